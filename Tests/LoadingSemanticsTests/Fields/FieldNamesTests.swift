import LoadingSemantics
import Testing

@Suite struct FieldNamesTests {
    // MISC-8
    @Test(arguments: [
        ("content-type", "Content-Type"), ("conTent-lenGTH", "Content-Length"), ("LOCATION", "Location"),
        ("Location", "Location"), ("www-authenticate", "WWW-Authenticate"), ("WWW-AUTHENTICATE", "WWW-Authenticate"),
        ("etag", "Etag"), ("x-extra-HEADER", "x-extra-HEADER"), ("X-UPPERCASE", "X-UPPERCASE"), ("x", "X"),
        ("xylophone-x", "Xylophone-X"), ("", ""), ("-a--b-", "-A--B-"), ("über-x", "über-X"),
    ])
    func names(came: String, shown: String) {
        #expect(FieldNames.canonical(came) == shown)
    }
}
