import Testing

@testable import LoadingSemantics

@Suite struct HTTPDateTests {
    // CACHE-17: RFC 9110 §5.6.7, the three forms.
    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "sun, 06 NOV 1994 08:49:37 gMT", "SUNDAY, 06-nov-94 08:49:37 Gmt", "Mon, 06 Nov 1994 08:49:37 GMT",
        "Saturday, 06-Nov-94 08:49:37 GMT", "wed nov  6 08:49:37 1994",
    ])
    func allDateFormats(text: String) {
        #expect(HTTPDate.parse(text, at: nil) == 784_111_777)
    }

    @Test(arguments: [
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
        ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000), ("Tue, 19 Jan 2038 03:14:08 GMT", 2_147_483_648),
        ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799), ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799), ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200),
        ("Mon, 01 Jan 1601 00:00:00 GMT", -11_644_473_600),
    ])
    func roundTrip(text: String, seconds: Int64) {
        #expect(HTTPDate.parse(text, at: nil) == seconds)
        #expect(HTTPDate.text(seconds) == text)
    }

    @Test func roundTripOfFourCenturies() {
        let wrong = (-150_000..<150_000).filter { day in
            let seconds = Int64(day) * 86400 + Int64(abs(day) % 86400)
            return HTTPDate.parse(HTTPDate.text(seconds), at: nil) != seconds
        }
        #expect(wrong == [])
    }

    // RFC 6265 §5.1.1, where the time is unknown
    @Test(arguments: [nil, .min, .max] as [Int64?]) func twoDigitYears(now: Int64?) {
        #expect(HTTPDate.parse("Thursday, 01-Jan-70 00:00:00 GMT", at: now) == 0)
        #expect(HTTPDate.parse("Friday, 01-Jan-69 00:00:00 GMT", at: now) == 3_124_224_000)
    }

    // RFC 9110 §5.6.7: at most 50 years in the future, else the most recent year in the past with these digits
    @Test(
        arguments: [
            ("2026-11-26", "26-Nov-76 00:00:00", "26 Nov 2076 00:00:00"),
            ("2026-11-26", "26-Nov-76 00:00:01", "26 Nov 1976 00:00:01"),
            ("2026-11-26", "01-Jan-77 00:00:00", "01 Jan 1977 00:00:00"),
            ("2026-11-26", "01-Jan-70 00:00:00", "01 Jan 2070 00:00:00"),
            ("2026-11-26", "06-Nov-94 08:49:37", "06 Nov 1994 08:49:37"),
            ("2026-11-26", "31-Dec-25 23:59:59", "31 Dec 2025 23:59:59"),
            ("1999-12-31", "01-Jan-00 00:00:00", "01 Jan 2000 00:00:00"),
            ("1949-12-31", "01-Jan-00 00:00:00", "01 Jan 1900 00:00:00"),
            ("2060-01-01", "01-Jan-05 00:00:00", "01 Jan 2105 00:00:00"),
            ("2060-01-01", "01-Jan-30 00:00:00", "01 Jan 2030 00:00:00"),
            // A leap day of 2000, not of 1900 or 2100.
            ("2060-01-01", "29-Feb-00 00:00:00", "29 Feb 2000 00:00:00"),
            ("1940-01-01", "29-Feb-00 00:00:00", nil),
            ("2024-02-29", "01-Mar-74 00:00:00", "01 Mar 2074 00:00:00"),
        ] as [(String, String, String?)])
    func fiftyYears(now: String, text: String, date: String?) throws {
        let parts = now.split(separator: "-").compactMap { Int($0) }
        let seconds = HTTPDate.days(year: parts[0], month: parts[1], day: parts[2]) * 86400
        let expected = date.flatMap { HTTPDate.parse("Mon, \($0) GMT", at: nil) }
        #expect((expected == nil) == (date == nil))
        #expect(HTTPDate.parse("Monday, \(text) GMT", at: seconds) == expected)
    }

    // A leap second is the first second of the next minute.
    @Test func leapSeconds() {
        #expect(HTTPDate.parse("Sat, 31 Dec 2016 23:59:60 GMT", at: nil) == 1_483_228_800)
    }

    @Test func distantDatesAreClamped() {
        #expect(HTTPDate.text(.max) == "Fri, 31 Dec 9999 23:59:59 GMT")
        #expect(HTTPDate.text(.min) == "Sat, 01 Jan 0000 00:00:00 GMT")
    }

    @Test(arguments: [
        "", "0", "-1", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 PST", "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 31 Nov 1994 08:49:37 GMT", "Wed, 29 Feb 2023 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 08:49:37:00 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 199 08:49:37 GMT", "Sun, 06 Nov 19940 08:49:37 GMT",
        "Sun, 06 Nov ١٩٩٤ 08:49:37 GMT", "a b c d e f g",
        // Nearly one of the three forms
        "Thu, 18 Aug 50 02:01:18 GMT", "Thu 18 Aug 2050 02:01:18 GMT", "Thu, 18  Aug  2050 02:01:18 GMT",
        "Thu, 18-Aug-2050 02:01:18 GMT", "Thu, 18-Aug-50 02:01:18 GMT", "Thu, 18 Aug 2050 02:01:18 UTC",
        "Thu, 18 Aug 2050 02:01:18 AEST", "Thu, 18 Aug 2050 02.01.18 GMT", "Thu, 8 Aug 2050 02:01:18 GMT",
        "Thursday, 18-Aug-2050 02:01:18 GMT", "Thursday, 18 Aug 2050 02:01:18 GMT", "Thursday, 18 Aug 50 02:01:18 GMT",
        "Thursday, 8-Aug-50 02:01:18 GMT", "Thursday 18-Aug-50 02:01:18 GMT", "Thu Aug 8 02:01:18 2050",
        "Thu Aug 08 02:01:18 2050 GMT", "Thu Aug  18 02:01:18 2050", "Thu Aug  8 02:01:18 50",
        "Thursday Aug  8 02:01:18 2050",
        "Thu,18 Aug 2050 02:01:18 GMT", "Thu,  18 Aug 2050 02:01:18 GMT", "Xyz, 18 Aug 2050 02:01:18 GMT",
        "18 Aug 2050 02:01:18 GMT", ", 18 Aug 2050 02:01:18 GMT", "Thu, 18 August 2050 02:01:18 GMT",
        " Thu, 18 Aug 2050 02:01:18 GMT", "Thu, 18 Aug 2050 02:01:18 GMT ", "Thu, 18 Aug 2050 02:01:18  GMT",
        "Thu, 18 Aug 2050 02:01:18GMT", "Thu, 18 Aug 2050 02:01:18 GMT, x", "Thu", "Thu,", "Thu, ", "Thu ", "Thu Aug",
        "Thu, 18 Aug 2050 02:01:18 GMT, Thu, 18 Aug 2050 02:01:18 GMT", "2050-08-18T02:01:18Z",
    ])
    func invalidDates(text: String) {
        #expect(HTTPDate.parse(text, at: nil) == nil)
    }

    // CACHE-17: the value of a field is read in another way, with the same result
    @Test("each octet of a field's date, replaced by each other one") func fields() {
        let texts = [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Thu, 29 Feb 2024 23:59:60 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ]
        for text in texts {
            let octets = Array(text.utf8)
            for index in octets.indices {
                for octet in 0x20...0x7E as ClosedRange<UInt8> {
                    var changed = octets
                    changed[index] = octet
                    let value = String(decoding: changed, as: UTF8.self)
                    let fields = HTTPFields([("Date", value)])
                    let date = HTTPDate.parse(fields, at: 0, received: 1_000_000_000)
                    if date != HTTPDate.parse(value, at: 1_000_000_000) { Issue.record("\(value): \(date ?? -1)") }
                }
            }
            #expect(HTTPDate.parse(HTTPFields([("Date", text + " ")]), at: 0, received: nil) == nil)
        }
        #expect(HTTPDate.parse(HTTPFields([("Date", "")]), at: 0, received: nil) == nil)
    }
}
