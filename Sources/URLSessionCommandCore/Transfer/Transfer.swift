import Foundation
import URLLoading

/// Runs one load and writes each piece of the body as it arrives.
final class Transfer: CommandLoad, URLSessionDataDelegate, @unchecked Sendable {
    // Sendable: as the superclass.
    private let output: TransferOutput

    private var response: URLResponse?
    private var requestBody: HARRecord.Body?
    private var responseBody: HARRecord.Body?

    init(_ command: CommandLineRequest, terminal: Terminal) throws(UsageError) {
        let builder = try RequestBuilder(command)
        let challenges = try ChallengeResponder(command, url: builder.request.url)
        output = TransferOutput(command, terminal: terminal)
        // While a body is sent nothing else is printed, so a progress bar can be shown.
        let hasRoom = !output.isTerminal || builder.body != .none
        super.init(
            command, builder, challenges, terminal: terminal, drawsProgress: hasRoom,
            retaining: command.includesHead ? .all : .last)
        if command.harPath != nil {
            responseBody = HARRecord.Body()
            switch builder.body {
            case .data(let data): requestBody = HARRecord.Body(data)
            case .file, .standardInput, .stream, .none: break
            }
        }
    }

    /// Runs the load, and returns after all output has been written.
    func run() -> ExitCode {
        load(RequestBuilder.configuration(command), makeTask)
        var report = TransferReport(command: command, terminal: terminal, verboseOutput: verboseOutput)
        report.metrics = metrics
        report.failure = failure(hasResponse: response != nil, expected: response?.expectedContentLength ?? -1)
        report.tunnelExchanges = heads.tunnelExchanges
        report.requestBody = requestBody
        report.responseBody = response == nil ? nil : responseBody
        return report.conclude()
    }

    private func makeTask(in session: URLSession) -> URLSessionTask {
        guard command.isUpload, case .file(let file) = builder.body else {
            return session.dataTask(with: builder.streamedRequest)
        }
        return session.uploadTask(with: builder.request, fromFile: file)
    }

    // MARK: CommandLoad

    override func follows(_ redirect: HTTPURLResponse, _ task: URLSessionTask) -> Bool {
        guard command.followsRedirects else { return false }
        attempt(task) { () throws(FileError) in try output.redirect(redirect, heads.takeResponses()) }
        return true
    }

    override func ended(_ task: URLSessionTask) {
        if stop.value == nil { attempt(task) { () throws(FileError) in try output.finish() } }
    }

    /// A file can be sent again after a redirect or a challenge. Standard input and pipes cannot.
    override func newBodyStream() -> InputStream? { builder.newBodyStream }

    override func sent(_ total: Int64, of expected: Int64) {
        progress?.update(received: total, expected: expected)
    }

    // MARK: URLSessionDataDelegate

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        self.response = response
        received = 0
        if output.isTerminal { progress?.end() } else if builder.body != .none { progress?.begin(at: 0) }
        if let http = response as? HTTPURLResponse {
            if command.failsOnHTTPError, http.statusCode >= 400 {
                end(dataTask, .httpError, "\(shown(http)): leave out -f to see its body")
                return completionHandler(.cancel)
            }
        }
        attempt(dataTask) { () throws(FileError) in try output.begin(response, heads.takeResponses()) }
        refuseBinary(dataTask)
        completionHandler(stop.value == nil ? .allow : .cancel)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        guard stop.value == nil else { return }
        received += Int64(data.count)
        responseBody?.add(data)
        attempt(dataTask) { () throws(FileError) in try output.add(data) }
        refuseBinary(dataTask)
        progress?.update(received: received, expected: response?.expectedContentLength ?? -1)
    }

    // MARK: Ending

    private func attempt(_ task: URLSessionTask, _ write: () throws(FileError) -> Void) {
        do throws(FileError) {
            try write()
        } catch {
            stop.set(TransferFailure(error))
            task.cancel()
        }
    }

    private func refuseBinary(_ task: URLSessionTask) {
        // A HEAD response has no body, whatever its Content-Type.
        guard output.isRefused, command.method != "HEAD", stop.value == nil else { return }
        let type = response?.mimeType.map { " (\(TextSanitizer.clean($0)))" } ?? ""
        end(
            task, .writeError,
            "the body is binary\(type): use -o FILE, or -o - to print it anyway")
    }
}
