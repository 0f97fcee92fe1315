import Foundation

/// What the server sends, byte by byte.
struct Response: Sendable {
    var bytes: Data
    var closes = false

    /// With a `Content-Length`, unless there is such a field already or the status forbids a body.
    init(_ status: Int, _ fields: [(String, String)] = [], _ body: String = "") {
        self.init(status, fields, Data(body.utf8))
    }

    init(_ status: Int, _ fields: [(String, String)], _ body: Data) {
        var head = "HTTP/1.1 \(status) Status\r\n"
        for (name, value) in fields { head += "\(name): \(value)\r\n" }
        let framed = fields.contains { ["content-length", "transfer-encoding"].contains($0.0.lowercased()) }
        if !framed, status != 204, status != 304 { head += "Content-Length: \(body.count)\r\n" }
        bytes = Data((head + "\r\n").utf8) + body
    }

    /// These bytes, and then the end of the connection.
    static func raw(_ text: String) -> Response { raw(Data(text.utf8)) }

    static func raw(_ bytes: Data) -> Response {
        var response = Response(200)
        response.bytes = bytes
        response.closes = true
        return response
    }

    /// The end of the connection without an answer.
    static let nothing = raw("")

    static func redirect(_ status: Int, to location: String) -> Response {
        Response(status, [("Location", location)])
    }
}
