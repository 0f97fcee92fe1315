import BackgroundTransfers
import FoundationEssentials
import LoadingPipeline

/// What the service, a program, and the journal read of a peer.
enum MessageRun {
    /// The frames of a stream are the same, whatever the cuts, and what was not announced is not stored.
    static func read(_ bytes: [UInt8], cut: Int) {
        let whole = frames([bytes[...]])
        let place = min(cut, bytes.count)
        precondition(frames([bytes[..<place], bytes[place...]]) == whole, "the cut changes what is read")
        precondition(frames(bytes.indices.map { bytes[$0...$0] }) == whole, "octet by octet")
        for content in whole.contents { decode([UInt8](content)) }
    }

    private struct Result: Equatable {
        var contents: [Data] = []
        var isTooLong = false
    }

    private static func frames(_ pieces: [ArraySlice<UInt8>]) -> Result {
        var frames = MessageFrames(limit: 300)
        var result = Result()
        for piece in pieces where !result.isTooLong {
            piece.withUnsafeBytes { frames.append($0) }
            do throws(MessageFrames.Failure) {
                while let content = try frames.next() { result.contents.append(content) }
            } catch {
                result.isTooLong = true
            }
            precondition(result.isTooLong || frames.incompleteBytes < 304, "a frame is not returned")
        }
        return result
    }

    static func decode(_ content: [UInt8]) {
        check(ServiceCommand.self, content)
        check(ServiceNotice.self, content)
        check(TransferRecord.self, content)
        check(SessionRecord.self, content)
    }

    /// What is understood is the same when it is written anew.
    private static func check<Content: Codable & Equatable & Sendable>(_: Content.Type, _ bytes: [UInt8]) {
        guard let message = try? TransferMessage<Content>(decoding: Data(bytes)) else { return }
        // A number that JSON does not have cannot be written.
        guard let written = try? message.encoded() else { return }
        guard let again = try? TransferMessage<Content>(decoding: written) else {
            preconditionFailure("not understood anew")
        }
        precondition(again.content == message.content, "another when written anew")
    }
}
