import Testing

@testable import LoadingSemantics

// CONN-6, CONN-8: RFC 7838 §3
@Suite struct AlternativeServiceFieldTests {
    private typealias Offer = AlternativeServiceField.Offer

    private func offer(
        _ port: UInt16, host: String? = nil, _ age: Int64 = 86_400, persists: Bool = false
    ) -> Offer {
        Offer(AlternativeService(host: host, port: port, persists: persists), maximumAge: age)
    }

    @Test("an alternative has a port, and may have a host, a lifetime and `persist`") func one() {
        #expect(AlternativeServiceField([#"h3=":443""#]) == .offers([offer(443)]))
        #expect(AlternativeServiceField([#"h3=":443"; ma=3600"#]) == .offers([offer(443, 3600)]))
        #expect(
            AlternativeServiceField([#"h3="alt.Example:8443";ma=60;persist=1"#])
                == .offers([offer(8443, host: "alt.example", 60, persists: true)]))
        #expect(AlternativeServiceField([#"h3="[2001:DB8::1]:1""#]) == .offers([offer(1, host: "2001:db8::1")]))
        #expect(AlternativeServiceField([#"h3="192.0.2.1:65535""#]) == .offers([offer(65535, host: "192.0.2.1")]))
        #expect(AlternativeServiceField([#"h3=":443"; ma=99999999999999999999"#]) == .offers([offer(443, 1 << 31)]))
    }

    @Test("alternatives of several fields keep their order, without duplicates") func several() {
        let fields = HTTPFields([
            ("alt-svc", #"h3=":2"; ma=1, h2=":3", h3=":4""#), ("Server", #"h3=":9""#),
            ("ALT-SVC", #"h3=":2"; ma=7,,h3="a:2""#),
        ])
        #expect(AlternativeServiceField(fields) == .offers([offer(2, 1), offer(4), offer(2, host: "a")]))
    }

    @Test(
        "a field without HTTP/3 alternatives removes the known ones",
        arguments: [
            #"h2=":443""#, #"h3-29=":443""#, #"H3=":443""#, #"quic=":443"; v="46,43""#, #"%683-Q="x:1""#,
            #"h3%20=":1""#,
        ])
    func others(field: String) {
        #expect(AlternativeServiceField([field]) == .offers([]))
    }

    @Test("`clear` is valid only alone, in lower case") func clear() {
        #expect(AlternativeServiceField(["clear"]) == .clear)
        #expect(AlternativeServiceField([" \tclear "]) == .clear)
        for values in [["Clear"], ["clear,"], ["clear;ma=1"], ["\"clear\""], ["clear", "clear"]] {
            #expect(AlternativeServiceField(values) == nil)
        }
        #expect(AlternativeServiceField(["clear", #"h3=":1""#]) == .offers([offer(1)]))
        #expect(AlternativeServiceField([#"clear, h3=":1""#]) == .offers([offer(1)]))
    }

    @Test(
        "parameters may have any order, case and quoting; unknown ones are ignored",
        arguments: [
            #"h3=":443";ma=5;persist=1"#, "h3=\":443\" ;\tpersist=1 ; \tma=5 ", #"h3=":443"; MA="5"; Persist="1""#,
            #"h3=":443"; v="a,b\";ma=9"; ma=5; x=y; persist=1"#, #"h3=":443"; ma="\5"; persist=1"#,
            #"h3=":443"; ma=5; ma=6; persist=1; persist=0"#, #"h3=":443";; ma=5 ; persist=1;"#,
            #"h3="\:44\3";ma=5;persist=1"#,
            #"%683=":443";ma=5;persist=1"#, #"%68%33=":443";ma=5;persist=1"#,
        ])
    func parameters(field: String) {
        #expect(AlternativeServiceField([field]) == .offers([offer(443, 5, persists: true)]))
    }

    @Test("only `persist=1` means persistent", arguments: ["0", "2", "01", "yes", "\"\""]) func persistence(
        value: String
    ) {
        #expect(AlternativeServiceField([#"h3=":443"; persist="# + value]) == .offers([offer(443)]))
    }

    private static let broken = [
        "", ",", "h3", "h3=", "=\":443\"", "h3=:443", "h3=443", #"h3="443""#, #"h3=":""#, #"h3=":0""#, #"h3=":65536""#,
        #"h3=":44a""#, #"h3=":-1""#, #"h3=":443"x"#, #"h3=":443" x"#, #"h3 =":443""#, #"h3= ":443""#, #"h3=":443"#,
        #"h3=":443\"#, #"h3=":443"; ma"#, #"h3=":443"; ma="#, #"h3=":443"; ma=-1"#, #"h3=":443"; ma=1.0"#,
        #"h3=":443"; ma="""#, #"h3=":443"; =1"#, #"h3=":443"; ma=1 2"#, #"h3=":443"; v=""#, #"h3="a b:1""#,
        #"h3="a@b:1""#, #"h3="a/b:1""#, #"h3="[::1:1""#, #"h3="::1:1""#, #"h3="[1.2.3.4]:1""#, #"h3="[::1%25eth0]:1""#,
        #"h3="a..b:1""#, #"h3=".a:1""#, "h3=\"\u{FC}:1\"", "h3=\"a\u{0}:1\"", "\u{FC}=\":1\"",
    ]

    @Test("a malformed field is ignored", arguments: broken) func unreadable(field: String) {
        #expect(AlternativeServiceField([field]) == nil)
    }

    // An unterminated string contains the rest of the field.
    @Test("a malformed alternative does not affect others", arguments: broken) func beside(field: String) {
        #expect(AlternativeServiceField([#"h3=":1", "# + field]) == .offers([offer(1)]))
        #expect(AlternativeServiceField([field, #"h3=":1""#]) == .offers([offer(1)]))
        if field.count(where: { $0 == "\"" }).isMultiple(of: 2), !field.contains("\\") {
            #expect(AlternativeServiceField([field + #", h3=":1""#]) == .offers([offer(1)]))
        }
    }

    @Test("without a field there is no value") func none() {
        #expect(AlternativeServiceField(HTTPFields([("Alt-Used", "a")])) == nil)
        #expect(AlternativeServiceField([]) == nil)
    }

    @Test("at most eight alternatives and 8192 bytes are parsed") func limits() {
        let many = (1...20).map { "h3=\":\($0)\"" }.joined(separator: ",")
        #expect(AlternativeServiceField([many]) == .offers((1...8).map { offer($0) }))
        let long = String(repeating: " ", count: 8_185) + #"h3=":1""#
        #expect(AlternativeServiceField([long]) == .offers([offer(1)]))
        #expect(AlternativeServiceField([" " + long]) == nil)
        #expect(AlternativeServiceField([long, #"h3=":2""#]) == .offers([offer(1)]))
    }
}
