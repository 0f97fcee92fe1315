import Foundation
import LoadingEvents
import URLLoading

/// Where a response goes and in which form. The file of `-o` is made when the response begins, so that a load that
/// never got one leaves an older file alone. Belongs to the delegate queue.
final class TransferOutput {
    private let command: CommandLineRequest
    private let terminal: Terminal
    private let style: TextStyle
    private var descriptor: OutputDescriptor?
    private var presenter: BodyPresenter?

    /// Whether a person reads what is written here.
    let isTerminal: Bool
    private let isForPerson: Bool

    init(_ command: CommandLineRequest, terminal: Terminal) {
        self.command = command
        self.terminal = terminal
        switch command.destination {
        case .file,
            .standardOutput where command.printsArchive:
            isTerminal = false
            isForPerson = false
        case .standardOutput(let exactly):
            isTerminal = terminal.outputIsTerminal
            isForPerson = !exactly && (terminal.outputIsTerminal || command.color == .always)
        }
        style =
            isForPerson
            ? TextStyle(command.color, isTerminal: isTerminal, terminal: terminal) : TextStyle(isColored: false)
    }

    var isRefused: Bool { presenter?.isRefused ?? false }

    /// - Parameter heads: What has come since the last call: that of the response, and those before it.
    func redirect(_ response: HTTPURLResponse, _ heads: [MessageHead]) throws(WriteError) {
        guard command.includesHead else { return }
        try writeHeads(response, heads)
    }

    /// - Parameter heads: As in `redirect`.
    func begin(_ response: URLResponse, _ heads: [MessageHead]) throws(WriteError) {
        let isHeadRequest = command.method == "HEAD"
        let isShown =
            command.includesHead || isHeadRequest || (isForPerson && !command.isSilent && command.verbosity == 0)
        if let http = response as? HTTPURLResponse, isShown {
            try writeHeads(http, command.includesHead ? heads : heads.suffix(1))
        }
        presenter = BodyPresenter(
            mimeType: response.mimeType, isForPerson: isForPerson, style: style, isUTF8: terminal.isUTF8)
        if case .file = command.destination { _ = try opened() }
    }

    func add(_ data: Data) throws(WriteError) {
        if isDiscarded { return }
        let descriptor = try opened()
        guard presenter?.passesBytesUnchanged == false else {
            var failure: WriteError?
            data.withUnsafeBytes { bytes in
                do throws(WriteError) { try descriptor.write(bytes) } catch { failure = error }
            }
            if let failure { throw failure }
            return
        }
        try descriptor.write(presenter?.add(data) ?? [])
    }

    func finish() throws(WriteError) {
        guard let descriptor else { return }
        try descriptor.write(presenter?.finish() ?? [])
        try descriptor.finish()
        self.descriptor = nil
    }

    /// The archive has standard output for itself, and the body in it.
    private var isDiscarded: Bool {
        if case .standardOutput = command.destination { command.printsArchive } else { false }
    }

    private func writeHeads(_ response: HTTPURLResponse, _ heads: some Collection<MessageHead>) throws(WriteError) {
        if isDiscarded { return }
        let printer = HeadPrinter(style: style, isForPerson: isForPerson, isUTF8: terminal.isUTF8)
        for head in heads {
            guard case .response(let status) = head.start else { continue }
            try opened().write(
                printer.responseHead(
                    status: status, version: head.version, fields: head.fields.map { ($0.name, $0.value) }))
        }
        // A part of a response in parts has no head of its own on the wire.
        guard heads.isEmpty else { return }
        try opened().write(
            printer.responseHead(status: response.statusCode, fields: HeadPrinter.fields(of: response)))
    }

    private func opened() throws(WriteError) -> OutputDescriptor {
        if let descriptor { return descriptor }
        let new: OutputDescriptor =
            switch command.destination {
            case .standardOutput: .standardOutput
            case .file(let path): try OutputDescriptor.create(path: path)
            }
        descriptor = new
        return new
    }
}
