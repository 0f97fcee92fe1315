package import FoundationEssentials

/// A body that comes piece by piece. Nobody sees it before it is committed; let go of before, it leaves nothing. Used on
/// its archive's thread.
package final class ResponseWriter {
    /// Bodies of up to that many bytes are kept in the index.
    static let mostInline = 16 << 10

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

    /// False when nothing will come of it any more.
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
        case .inline(let before) where before.count + piece.count <= Self.mostInline: body = .inline(before + piece)
        case .inline(let before):
            let file = try folder.makeFile()
            try file.write(before)
            try file.write(piece)
            body = .file(file)
        }
    }

    /// All that was written; nil if it is not whole.
    var result: (body: Body, seal: Int64)? {
        if failure != nil || isTooLong { return nil }
        if case .inline(let data) = body { return (body, BodyChecksum.of(data)) }
        return (body, runningSeal.value)
    }
}

/// The seal of a body in the index is that of its row, so that the row can be told to be whole.
enum BodyChecksum {
    static func of(_ data: Data) -> Int64 {
        var seal = Checksum()
        seal.add(.blob(data))
        return seal.value
    }
}
