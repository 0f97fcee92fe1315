import LoadingSemantics
import Testing

// RFC 6265bis §5.1.1
@Suite struct CookieDateTests {
    // COOK-20
    @Test(
        "The parts of a date may have any order",
        arguments: [
            ("Wed, 01 Jan 2020 12:30:00 GMT", 1_577_881_800), ("Wed Jan 1 12:30:00 2020", 1_577_881_800),
            ("Wed, 01-Jan-2020 12:30:00 GMT", 1_577_881_800), ("Wednesday, 01-Jan-20 12:30:00 GMT", 1_577_881_800),
            ("12:30:00 1 January 20", 1_577_881_800), ("2020 jAnUaRy 12:30:00 01", 1_577_881_800),
            ("01;Jan;2020;12:30:00", 1_577_881_800), ("\t01/Jan@2020[12:30:00]", 1_577_881_800),
            ("01 Jan 2020 12:30:00 +0500", 1_577_881_800), ("1st Jan 2020 12:30:00", 1_577_881_800),
            ("01 Janitor 2020 12:30:00", 1_577_881_800), ("01 Jan 2020AD 12:30:00PM", 1_577_881_800),
            ("01 Jan 2020 12:30:00:99", 1_577_881_800), ("01 Jan Feb 2020 2021 12:30:00 13:00:00", 1_577_881_800),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Mon, 01-Jan-70 0:0:1 GMT", 1),
            ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            ("Mon, 01 Jan 1601 00:00:00 GMT", -11_644_473_600), ("31 Dec 69 23:59:59", 3_155_759_999),
            ("31 Dec 99 23:59:59", 946_684_799), ("31 Dec 00 23:59:59", 978_307_199),
            // The first number of one or two digits is the day, so a year before it needs more digits.
            ("99 Jan 12 12:30:00", nil), ("1999 Jan 12 12:30:00", 916_144_200),
        ] as [(String, Int64?)])
    func anyOrder(text: String, seconds: Int64?) {
        #expect(CookieDate.parse(text) == seconds)
    }

    // COOK-20
    @Test(
        "A date without a part, or that does not exist, is invalid",
        arguments: [
            "", " ", "yesterday", "Wed, 01 Jan 2020", "01 Jan 12:30:00", "Jan 2020 12:30:00", "01 2020 12:30:00",
            "Wed, 32 Jan 2020 12:30:00", "00 Jan 2020 12:30:00", "31 Apr 2020 12:30:00", "30 Feb 2020 12:30:00",
            "29 Feb 2019 12:30:00", "29 Feb 1900 00:00:00", "01 Jan 2020 24:00:00", "01 Jan 2020 12:60:00",
            "01 Jan 2020 12:30:60", "01 Jan 1600 00:00:00", "01 Foo 2020 00:00:00", "01 Jan 20200 00:00:00",
            "01 Jan 2 00:00:00", "01 Jan 2020 12:30", "01 Jan 2020 123:30:00", "01 Jan 2020 12::00", "::",
            "001 Jan 2020 12:30:00", "99999999999999999999 Jan 2020 1:1:1", "01 Ja 2020 12:30:00",
            "01 \u{4A}\u{301}an 2020 12:30:00", "٠١ Jan 2020 12:30:00",
        ])
    func noDate(text: String) {
        #expect(CookieDate.parse(text) == nil)
    }

    @Test("The cookie and HTTP date parsers agree")
    func agreesWithFields() {
        for day in stride(from: Int64(-100_000), to: 200_000, by: 37) {
            let seconds = day * 86400 + (day * day) % 86400
            #expect(CookieDate.parse(HTTPDate.text(seconds)) == seconds)
        }
    }
}
