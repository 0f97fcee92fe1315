import LoadingSemantics
import Testing

// TLS-7: RFC 6797 §6.1
@Suite struct StrictTransportSecurityTests {
    @Test(
        "Directives may have any order, case and spacing",
        arguments: [
            ("max-age=31536000", 31_536_000, false), ("max-age=15768000 ; includeSubDomains", 15_768_000, true),
            ("max-age=\"31536000\"", 31_536_000, false), ("max-age=0", 0, false),
            ("max-age=0; includeSubDomains", 0, true), ("INCLUDESUBDOMAINS;MAX-AGE=7", 7, true),
            (" \tmax-age\t= 7 \t;\tincludesubdomains ", 7, true), (";; max-age=7;;includeSubDomains;", 7, true),
            ("max-age=\"\\3\\6\"", 36, false), ("max-age=007", 7, false), (";max-age=1", 1, false),
        ] as [(String, Int64, Bool)])
    func reads(field: String, maximumAge: Int64, includesSubdomains: Bool) throws {
        let policy = try #require(StrictTransportSecurity(field))
        #expect(policy.maximumAge == maximumAge)
        #expect(policy.includesSubdomains == includesSubdomains)
    }

    // Item 5
    @Test(
        "Unknown directives are ignored",
        arguments: [
            "max-age=7; preload", "preload; max-age=7", "max-age=7; a=b; c=\"d; max-age=9\"; e",
            "max-age=7; x=\"\"", "max-age=7; x=\"a\\\"b\"", "max-age=7; report-uri=\"ü\"", "max-age=7; max-age-x=9",
        ])
    func unknown(field: String) {
        #expect(StrictTransportSecurity(field)?.maximumAge == 7)
        #expect(StrictTransportSecurity(field)?.includesSubdomains == false)
    }

    // Items 2 and 4, §6.1.1, §6.1.2
    @Test(
        "A malformed field is ignored",
        arguments: [
            "", ";", "includeSubDomains", "max-age", "max-age=", "max-age= ;", "max-age=\"\"", "max-age=-1",
            "max-age=+1", "max-age=1.0", "max-age=1s", "max-age=1e3", "max-age=٥", "max-age=1 2", "max-age=\"1",
            "max-age=\"1\"2", "max-age='1'", "=1", "max-age==1", "max-age=1; =", "max-age=1, includeSubDomains",
            "max-age=1; includeSubDomains=", "max-age=1; includeSubDomains=1", "max-age=1; includeSubDomains=\"\"",
            "max-age=1; a b", "max-age=1; (a)", "max-age=1; a=\"b", "max-age=1; a=\"b\\", "max-age=1; ü",
            "max-age=1; a=b c", "max-age=1; a=\"\u{1}\"", "max-age=\"\\", "max-age 1",
        ])
    func broken(field: String) {
        #expect(StrictTransportSecurity(field) == nil)
    }

    // Item 2
    @Test(
        "A duplicate directive invalidates the field",
        arguments: [
            "max-age=1; max-age=1", "max-age=1; MAX-AGE=2", "max-age=1; includeSubDomains; includesubdomains",
            "max-age=1; preload; preload", "max-age=1; a; A=b",
        ])
    func twice(field: String) {
        #expect(StrictTransportSecurity(field) == nil)
    }

    // §6.1.1: large numbers are capped.
    @Test("Huge lifetimes are capped")
    func overflow() {
        for digits in ["2147483648", "9223372036854775807", "9223372036854775808", String(repeating: "9", count: 5000)]
        {
            #expect(StrictTransportSecurity("max-age=\(digits)")?.maximumAge == 1 << 31)
        }
        #expect(StrictTransportSecurity("max-age=2147483647")?.maximumAge == 2_147_483_647)
        #expect(StrictTransportSecurity("max-age=" + String(repeating: "0", count: 5000) + "5")?.maximumAge == 5)
    }

    // §8.1
    @Test("Only the first field applies")
    func firstField() {
        let read = { (values: [String]) in
            StrictTransportSecurity(HTTPFields(values.map { ("strict-transport-security", $0) }))?.maximumAge
        }
        #expect(read(["max-age=1", "max-age=2; includeSubDomains"]) == 1)
        #expect(read(["broken=", "max-age=2"]) == nil)
        #expect(read(["", "max-age=2"]) == nil)
        #expect(read([]) == nil)
    }
}
