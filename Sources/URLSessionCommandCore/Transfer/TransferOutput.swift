import Foundation
import LoadingEvents
internal import LoadingSemantics
import URLLoading

/// Writes a response to its destination. The file of `-o` is created when the response begins, so a load without a
/// response does not change an existing file. Confined to the delegate queue.
final class TransferOutput {
    private let command: CommandLineRequest
    private let terminal: Terminal
    private let style: TextStyle
    private var destination: CommandLineRequest.Destination
    private var descriptor: OutputDescriptor?
    private var presenter: BodyPresenter?

    /// Whether the output is a terminal.
    let isTerminal: Bool
    private let isFormatted: Bool

    init(_ command: CommandLineRequest, terminal: Terminal) {
        self.command = command
        self.terminal = terminal
        destination = command.destination
        let form = OutputForm(command, terminal: terminal)
        isTerminal = form.isTerminal
        isFormatted = form.isFormatted
        style = form.style
    }

    /// The file that was written; nil for standard output, and before the response.
    private(set) var writtenPath: String?
    /// Whether something was written that cannot be taken back.
    private(set) var isFinal = false
    private var keepsFile = false
    /// The heads of redirects, which are written only if the file is not kept.
    private var waitingHeads: [MessageHead] = []
    /// The time that the file gets, in seconds since 1970.
    private var remoteTime: Int64?

    var isRefused: Bool { presenter?.isRefused ?? false }

    /// - Parameters:
    ///   - heads: The response heads since the last call, that of `response` last.
    ///   - mayKeepFile: Whether the next response may say that the file is to be kept.
    func redirect(_ response: HTTPURLResponse, _ heads: [MessageHead], mayKeepFile: Bool) throws(FileError) {
        guard command.includesHead else { return }
        if mayKeepFile, case .file = destination {
            waitingHeads += heads
            return
        }
        try writeHeads(response, heads)
    }

    /// - Parameters:
    ///   - new: As `heads` of `redirect`.
    ///   - keepsFile: Whether a file is not opened, and so keeps what it has.
    func begin(_ response: URLResponse, _ new: [MessageHead], keepsFile: Bool = false) throws(FileError) {
        self.keepsFile = keepsFile
        let heads = waitingHeads + new
        waitingHeads = []
        if command.keepsRemoteTime,
            let text = (response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Last-Modified")
        {
            remoteTime = HTTPDate.parse(text, at: nil)
        }
        nameByServer(response)
        let isHeadRequest = command.method == "HEAD"
        let isShown =
            command.includesHead || isHeadRequest || (isFormatted && !command.isSilent && command.verbosity == 0)
        if let http = response as? HTTPURLResponse, isShown {
            try writeHeads(http, command.includesHead ? heads : heads.suffix(1))
        }
        presenter = BodyPresenter(
            mimeType: response.mimeType, charset: (response as? HTTPURLResponse)?.textEncodingName,
            isFormatted: isFormatted, style: style, isUTF8: terminal.isUTF8)
        if case .file = destination, !keepsFile { _ = try opened() }
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

    /// Removes the file that the server has named, and that is new, so that the next try can create it.
    func discard() {
        if command.usesServerName, let writtenPath { unlink(writtenPath) }
    }

    func finish() throws(FileError) {
        guard let descriptor else { return }
        try descriptor.write(presenter?.finish() ?? [])
        if writtenPath != nil, let remoteTime { descriptor.setTime(remoteTime) }
        try descriptor.finish()
        self.descriptor = nil
    }

    /// With `--har -` standard output gets only the archive, which contains the body.
    private var isDiscarded: Bool {
        if case .standardOutput = destination { command.printsArchive } else { keepsFile }
    }

    /// `-J`: the name in `Content-Disposition`, in the folder of the name that the URL has.
    private func nameByServer(_ response: URLResponse) {
        guard command.usesServerName, case .file(let path) = destination,
            let value = (response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Content-Disposition"),
            let name = ContentDisposition.filename(in: value)
        else { return }
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        destination = .file(folder + name)
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
        let new: OutputDescriptor
        switch destination {
        case .standardOutput:
            new = .standardOutput
            isFinal = true
        case .file(let path):
            if command.createsFolders { try Folders.create(forFile: path) }
            // A name that the server has chosen must not replace a file.
            new = try OutputDescriptor.create(path: path, isNew: command.usesServerName)
            writtenPath = path
            isFinal = isFinal || !new.isRegularFile
        }
        descriptor = new
        return new
    }
}
