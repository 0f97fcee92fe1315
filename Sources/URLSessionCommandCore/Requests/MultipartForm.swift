import Foundation

/// A body of `multipart/form-data` (RFC 7578), with names as browsers and curl encode them.
struct MultipartForm {
    let boundary: String
    private(set) var body = ComposedBody()

    var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    /// The type of `-H`. As in curl, one of several parts gets the boundary.
    func contentType(as type: String) throws(UsageError) -> String {
        guard type.lowercased().hasPrefix("multipart/") else { return type }
        guard !type.lowercased().contains("boundary=") else {
            throw UsageError("-F makes its own boundary: leave it out of the Content-Type of -H")
        }
        return "\(type); boundary=\(boundary)"
    }

    /// - Parameter boundary: Nil for a random one.
    init(_ parts: [FormPart], boundary: String? = nil) throws(UsageError) {
        let random = String(UInt64.random(in: .min ... .max), radix: 16)
        self.boundary =
            boundary ?? String(repeating: "-", count: 24) + String(repeating: "0", count: 16 - random.count)
            + random
        for part in parts { try add(part) }
        body.add("--\(self.boundary)--\r\n")
    }

    private mutating func add(_ part: FormPart) throws(UsageError) {
        var head = "--\(boundary)\r\nContent-Disposition: form-data"
        if !part.name.isEmpty { head += "; name=\"\(Self.escaped(part.name))\"" }
        var fileName = part.fileName
        var type = part.type
        if case .attachment(let path) = part.content {
            let own = path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? path
            fileName = fileName ?? own
            type = type ?? Self.type(ofFile: own)
        }
        if let fileName { head += "; filename=\"\(Self.escaped(fileName))\"" }
        head += "\r\n"
        if let type { head += "Content-Type: \(type)\r\n" }
        for field in part.fields { head += field + "\r\n" }
        body.add(head + "\r\n")
        switch part.content {
        case .text(let text): body.add(text)
        case .attachment("-"), .textOfFile("-"): try body.add(file: FileContents.standardInput)
        case .attachment(let path), .textOfFile(let path): try body.add(file: path)
        }
        body.add("\r\n")
    }

    /// The encoding of the HTML standard: only the bytes that would end the name. Not by characters, because CRLF is
    /// one, and so is a quotation mark with a combining one.
    private static func escaped(_ name: String) -> String {
        PercentCoding.encoded(Array(name.utf8)) { byte in
            byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\r") && byte != UInt8(ascii: "\n")
        }
    }

    /// curl's list.
    private static func type(ofFile name: String) -> String {
        let types = [
            ".gif": "image/gif", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png",
            ".svg": "image/svg+xml", ".txt": "text/plain", ".htm": "text/html", ".html": "text/html",
            ".pdf": "application/pdf", ".xml": "application/xml",
        ]
        let name = name.lowercased()
        return types.first { name.hasSuffix($0.key) }?.value ?? "application/octet-stream"
    }
}
