import Foundation
import LoadingEvents
import URLLoading

/// Writes a response to its destination. The file of `-o` is created when the response begins, so a load without a
/// response does not change an existing file. Confined to the delegate queue.
final class TransferOutput {
    private let command: CommandLineRequest
    private let terminal: Terminal
    private let style: TextStyle
    private var descriptor: OutputDescriptor?
    private var presenter: BodyPresenter?

    /// Whether the output is a terminal.
    let isTerminal: Bool
    private let isFormatted: Bool

    init(_ command: CommandLineRequest, terminal: Terminal) {
        self.command = command
        self.terminal = terminal
        let form = OutputForm(command, terminal: terminal)
        isTerminal = form.isTerminal
        isFormatted = form.isFormatted
        style = form.style
    }

    var isRefused: Bool { presenter?.isRefused ?? false }

    /// - Parameter heads: The response heads since the last call, that of `response` last.
    func redirect(_ response: HTTPURLResponse, _ heads: [MessageHead]) throws(FileError) {
        guard command.includesHead else { return }
        try writeHeads(response, heads)
    }

    /// - Parameter heads: As for `redirect`.
    func begin(_ response: URLResponse, _ heads: [MessageHead]) throws(FileError) {
        let isHeadRequest = command.method == "HEAD"
        let isShown =
            command.includesHead || isHeadRequest || (isFormatted && !command.isSilent && command.verbosity == 0)
        if let http = response as? HTTPURLResponse, isShown {
            try writeHeads(http, command.includesHead ? heads : heads.suffix(1))
        }
        presenter = BodyPresenter(
            mimeType: response.mimeType, isFormatted: isFormatted, style: style, isUTF8: terminal.isUTF8)
        if case .file = command.destination { _ = try opened() }
    }

    func add(_ data: Data) throws(FileError) {
        if isDiscarded { return }
        let descriptor = try opened()
        guard presenter?.passesBytesUnchanged == false else {
            var failure: FileError?
            data.withUnsafeBytes { bytes in
                do throws(FileError) { try descriptor.write(bytes) } catch { failure = error }
            }
            if let failure { throw failure }
            return
        }
        try descriptor.write(presenter?.add(data) ?? [])
    }

    func finish() throws(FileError) {
        guard let descriptor else { return }
        try descriptor.write(presenter?.finish() ?? [])
        try descriptor.finish()
        self.descriptor = nil
    }

    /// With `--har -` standard output gets only the archive, which contains the body.
    private var isDiscarded: Bool {
        if case .standardOutput = command.destination { command.printsArchive } else { false }
    }

    private func writeHeads(_ response: HTTPURLResponse, _ heads: some Collection<MessageHead>) throws(FileError) {
        if isDiscarded { return }
        let printer = HeadPrinter(style: style, isFormatted: isFormatted, isUTF8: terminal.isUTF8)
        for head in heads {
            guard case .response(let status, let reason) = head.start else { continue }
            try opened().write(
                printer.responseHead(
                    status: status, version: head.version, reason: reason,
                    fields: head.fields.map { ($0.name, $0.value) }))
        }
        // A part of a multipart response has no HTTP head.
        guard heads.isEmpty else { return }
        try opened().write(
            printer.responseHead(status: response.statusCode, fields: HeadPrinter.fields(of: response)))
    }

    private func opened() throws(FileError) -> OutputDescriptor {
        if let descriptor { return descriptor }
        let new = try OutputDescriptor.opened(command.destination)
        descriptor = new
        return new
    }
}
