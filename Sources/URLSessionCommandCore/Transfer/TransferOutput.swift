import Foundation
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
        case .file:
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

    func redirect(_ response: HTTPURLResponse) throws(WriteError) {
        guard command.includesHead else { return }
        try writeHead(response)
    }

    func begin(_ response: URLResponse) throws(WriteError) {
        let isHeadRequest = command.method == "HEAD"
        let isShown =
            command.includesHead || isHeadRequest || (isForPerson && !command.isSilent && command.verbosity == 0)
        if let http = response as? HTTPURLResponse, isShown { try writeHead(http) }
        presenter = BodyPresenter(
            mimeType: response.mimeType, isForPerson: isForPerson, style: style, isUTF8: terminal.isUTF8)
        if case .file = command.destination { _ = try opened() }
    }

    func add(_ data: Data) throws(WriteError) {
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

    private func writeHead(_ response: HTTPURLResponse) throws(WriteError) {
        let printer = HeadPrinter(style: style, isForPerson: isForPerson, isUTF8: terminal.isUTF8)
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
