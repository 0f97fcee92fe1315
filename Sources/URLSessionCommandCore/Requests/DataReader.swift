import Foundation

/// Reads the pieces of `-d` and its kin.
enum DataReader {
    /// The body of the pieces, joined with `&`. Files are read while they are sent, unless they are encoded.
    static func body(of pieces: [DataPiece]) throws(UsageError) -> ComposedBody {
        var body = ComposedBody()
        for (index, piece) in pieces.enumerated() {
            if index > 0 { body.add("&") }
            let strips = piece.coding == .withoutLineBreaks
            switch (piece.source, piece.coding) {
            case (.text(let text), .exact), (.text(let text), .withoutLineBreaks): body.add(text)
            case (.file(let path), .exact), (.file(let path), .withoutLineBreaks):
                try body.add(file: path, stripsLineBreaks: strips)
            case (.standardInput, .exact), (.standardInput, .withoutLineBreaks):
                try body.add(file: FileContents.standardInput, stripsLineBreaks: strips)
            case (_, .urlEncoded): body.add(try bytes(of: piece))
            }
        }
        return body
    }

    /// The query of the pieces for `-G`. What a URL cannot contain is percent-encoded.
    static func query(of pieces: [DataPiece]) throws(UsageError) -> String {
        var query: [UInt8] = []
        for (index, piece) in pieces.enumerated() {
            if index > 0 { query.append(UInt8(ascii: "&")) }
            query += try bytes(of: piece)
        }
        return PercentCoding.encoded(query) { byte in
            switch byte {
            case 0x21, 0x23...0x3B, 0x3D, 0x3F...0x5F, 0x61...0x7E: byte != UInt8(ascii: "#")
            default: false
            }
        }
    }

    private static func bytes(of piece: DataPiece) throws(UsageError) -> [UInt8] {
        let contents: [UInt8] =
            switch piece.source {
            case .text(let text): Array(text.utf8)
            case .file(let path): try read(path)
            case .standardInput: try read(FileContents.standardInput)
            }
        switch piece.coding {
        case .exact: return contents
        case .withoutLineBreaks:
            if case .text = piece.source { return contents }
            return contents.filter { ![10, 13, 0].contains($0) }
        case .urlEncoded(let name):
            let encoded: String = PercentCoding.encoded(contents)
            return Array((name.map { $0 + "=" } ?? "").utf8) + Array(encoded.replacing("%20", with: "+").utf8)
        }
    }

    private static func read(_ path: String) throws(UsageError) -> [UInt8] {
        do throws(FileError) {
            return [UInt8](try FileContents.readAll(path))
        } catch {
            throw UsageError("cannot read '\(path)': \(error.reason)", exitCode: .readError)
        }
    }
}
