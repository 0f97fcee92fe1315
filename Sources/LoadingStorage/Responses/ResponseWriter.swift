package import FoundationEssentials

/// A response body that arrives in pieces. Invisible until it is committed; released before, it is discarded. Used on
/// its archive's thread.
package final class ResponseWriter {
    /// Larger bodies are stored in files.
    static let maximumInline = 16 << 10

    enum Body {
        case inline(Data)
        case file(BodyFile)
    }

    private let folder: BodyFolder
    private let limit: Int64
    private var body = Body.inline(Data())
    private var runningSeal = Checksum()
    private(set) var count: Int64 = 0
    private(set) var failure: StorageFailure?
    private var isTooLong = false

    init(_ folder: BodyFolder, limit: Int64) {
        self.folder = folder
        self.limit = limit
    }

    /// Returns false once the body cannot be stored.
    @discardableResult
    package func append(_ piece: Data) -> Bool {
        if failure != nil || isTooLong { return false }
        if Int64(piece.count) > limit - count {
            isTooLong = true
            body = .inline(Data())
            return false
        }
        do throws(StorageFailure) { try add(piece) } catch {
            failure = error
            body = .inline(Data())
            return false
        }
        count += Int64(piece.count)
        piece.withUnsafeBytes { runningSeal.add($0) }
        return true
    }

    private func add(_ piece: Data) throws(StorageFailure) {
        switch body {
        case .file(let file): try file.write(piece)
        case .inline(let before) where before.count + piece.count <= Self.maximumInline: body = .inline(before + piece)
        case .inline(let before):
            let file = try folder.makeFile()
            try file.write(before)
            try file.write(piece)
            body = .file(file)
        }
    }

    /// The complete body; nil if writing failed or it is too large.
    var result: (body: Body, seal: Int64)? {
        if failure != nil || isTooLong { return nil }
        if case .inline(let data) = body { return (body, BodyChecksum.of(data)) }
        return (body, runningSeal.value)
    }
}

/// The checksum of a body in the index is that of its row, so that the row can be verified on its own.
enum BodyChecksum {
    static func of(_ data: Data) -> Int64 {
        var seal = Checksum()
        seal.add(.blob(data))
        return seal.value
    }
}
