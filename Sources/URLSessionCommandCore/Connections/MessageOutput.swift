import URLLoading

/// Writes received messages to their destination, on a thread that may be blocked by a slow reader.
struct MessageOutput: Sendable {
    private let presenter: MessagePresenter
    private let descriptor: OutputDescriptor
    private let calls = BlockingCalls("urlsession.output")

    /// Creates the file of `-o`.
    init(_ command: CommandLineRequest, terminal: Terminal) throws(FileError) {
        let form = OutputForm(command, terminal: terminal)
        presenter = MessagePresenter(isFormatted: form.isFormatted, style: form.style, isUTF8: terminal.isUTF8)
        descriptor = try OutputDescriptor.opened(command.destination)
    }

    func write(_ message: URLSessionWebSocketTask.Message) async throws(FileError) {
        let bytes =
            switch message {
            case .string(let text): presenter.text(text)
            case .data(let data): presenter.binary(data)
            }
        try await calls.write(bytes, to: descriptor)
    }

    func finish() throws(FileError) { try descriptor.finish() }
}

extension BlockingCalls {
    func write(_ bytes: [UInt8], to descriptor: OutputDescriptor) async throws(FileError) {
        let failure = await run { () -> FileError? in
            do throws(FileError) {
                try descriptor.write(bytes)
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }
}
