import Testing
import URLSessionCommandCore

/// Heads of responses as text.
@Suite struct HeadPrinterTests {
    private let fields = [(name: "A", value: "1"), (name: "Empty", value: "")]

    @Test func aProgramGetsAnHTTPHead() {
        let printer = HeadPrinter(style: TextStyle(isColored: false), isFormatted: false, isUTF8: true)
        #expect(
            printer.responseHead(status: 404, reason: "Not Found", fields: fields)
                == "HTTP/1.1 404 Not Found\r\nA: 1\r\nEmpty:\r\n\r\n")
        #expect(printer.responseHead(status: 200, version: "HTTP/2", fields: []) == "HTTP/2 200\r\n\r\n")
        // What was not on the wire is not invented.
        #expect(printer.responseHead(status: 404, fields: []) == "HTTP/1.1 404\r\n\r\n")
        #expect(printer.responseHead(status: 599, reason: "Own", fields: []) == "HTTP/1.1 599 Own\r\n\r\n")
    }

    @Test func aPersonGetsColor() {
        let printer = HeadPrinter(style: TextStyle(isColored: true), isFormatted: true, isUTF8: true)
        #expect(
            printer.responseHead(status: 200, reason: "OK", fields: [fields[0]])
                == "\u{1B}[1;32mHTTP/1.1 200 OK\u{1B}[0m\n\u{1B}[36mA\u{1B}[0m: 1\n\n")
    }

    @Test func aServerCannotCommandTheTerminal() {
        let printer = HeadPrinter(style: TextStyle(isColored: false), isFormatted: true, isUTF8: true)
        #expect(
            printer.responseHead(
                status: 200, reason: "\u{1B}[2JOK", fields: [(name: "X", value: "\u{1B}[2J\u{9B}1m")])
                == "HTTP/1.1 200 ^[[2JOK\nX: ^[[2J<U+009B>1m\n\n")
    }

    @Test func linesOfTheNarrator() {
        let printer = HeadPrinter(style: TextStyle(isColored: false), isFormatted: true, isUTF8: true)
        #expect(
            printer.requestHead(method: "GET", target: "ftp://h/", fields: [fields[0]], prefix: "> ")
                == "> GET ftp://h/\n> A: 1\n>\n")
        #expect(
            printer.requestHead(method: "GET", target: "/a", version: "HTTP/3", fields: [], prefix: "> ")
                == "> GET /a HTTP/3\n>\n")
    }
}
