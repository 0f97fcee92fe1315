package import Foundation
internal import LoadingSemantics
package import URLLoading

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Builds the `URLRequest`, its body and the session configuration from the command line.
package struct RequestBuilder {
    package enum Body: Equatable {
        case none
        case data(Data)
        case file(URL)
        case standardInput
        /// Not a regular file, or one whose reported size is wrong.
        case stream(URL)
    }

    package let request: URLRequest
    package let body: Body

    package init(_ command: CommandLineRequest) throws(UsageError) {
        let text = URLArgument.complete(command.url)
        guard let url = URL(string: text), url.scheme != nil else {
            throw UsageError("'\(command.url)' is not a URL", exitCode: .malformedURL)
        }
        if ["http", "https", "ws", "wss"].contains(url.scheme?.lowercased()), url.host?.isEmpty ?? true {
            throw UsageError("'\(command.url)' has no host", exitCode: .malformedURL)
        }
        var request = URLRequest(url: url)
        request.httpMethod = command.method
        body = try Self.body(command.body, isUpload: command.isUpload)
        for (name, value) in Self.fields(command) { request.setValue(value, forHTTPHeaderField: name) }
        if case .data(let data) = body { request.httpBody = data }
        self.request = request
    }

    /// The request with its body. A body from a file or stream is read while it is sent.
    package var streamedRequest: URLRequest {
        var streamed = request
        switch body {
        case .none, .data: break
        case .file(let url):
            let attributes = try? FileManager.default.attributesOfItem(atPath: url.path)
            if let size = attributes?[.size] as? NSNumber {
                streamed.setValue(size.stringValue, forHTTPHeaderField: "Content-Length")
            }
            streamed.httpBodyStream = InputStream(url: url)
        case .standardInput:
            streamed.httpBodyStream = InputStream(fileAtPath: "/dev/stdin")
        case .stream(let url):
            streamed.httpBodyStream = InputStream(url: url)
        }
        return streamed
    }

    /// A new stream of the body; nil if the body cannot be read again or is not a stream.
    package var newBodyStream: InputStream? {
        switch body {
        case .file(let url): return InputStream(url: url)
        case .stream(let url):
            var status = stat()
            guard stat(url.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
            return InputStream(url: url)
        case .none, .data, .standardInput: return nil
        }
    }

    /// The header fields: those that the switches imply, then the edits of `-H` in order.
    package static func fields(_ command: CommandLineRequest) -> [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        if command.isJSON {
            fields = [("Content-Type", "application/json"), ("Accept", "application/json")]
        } else if command.isUpload {
            fields = [("Content-Type", "application/octet-stream")]
        } else if command.body != .none {
            fields = [("Content-Type", "application/x-www-form-urlencoded")]
        }
        if let userAgent = command.userAgent { fields.append(("User-Agent", userAgent)) }
        // The first edit of a name replaces the implied field. Later edits of the same name append values.
        var edited: Set<String> = []
        for edit in command.headers {
            switch edit {
            case .remove(let name):
                fields.removeAll { $0.name.lowercased() == name.lowercased() }
            case .set(let name, let value):
                if edited.insert(name.lowercased()).inserted {
                    fields.removeAll { $0.name.lowercased() == name.lowercased() }
                    fields.append((name, value))
                } else if let index = fields.firstIndex(where: { $0.name.lowercased() == name.lowercased() }) {
                    fields[index].value += (name.lowercased() == "cookie" ? "; " : ", ") + value
                } else {
                    fields.append((name, value))
                }
            }
        }
        return fields
    }

    /// An ephemeral session: each run starts without cookies, cache and credentials.
    package static func configuration(_ command: CommandLineRequest) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.programVersion = Command.version
        configuration.requiredHTTPVersion =
            switch command.version {
            case .http1: .http11
            case .http2: .http2
            case .http3: .http3
            case nil: nil
            }
        if let timeout = command.timeout { configuration.timeoutIntervalForResource = timeout }
        if let idle = command.idleTimeout { configuration.timeoutIntervalForRequest = idle }
        // Otherwise the cookie store, which is empty, would replace the user's Cookie field.
        if fields(command).contains(where: { $0.name.lowercased() == "cookie" }) {
            configuration.httpShouldSetCookies = false
        }
        return configuration
    }

    private static func body(_ body: CommandLineRequest.Body, isUpload: Bool) throws(UsageError) -> Body {
        switch body {
        case .none: return .none
        case .text(let text): return .data(Data(text.utf8))
        case .standardInput: return .standardInput
        case .file(let path):
            var status = stat()
            guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
                throw UsageError("cannot read '\(path)': \(String(cString: strerror(errno)))", exitCode: .readError)
            }
            guard status.st_mode & S_IFMT != S_IFDIR else {
                throw UsageError("cannot send '\(path)': it is a directory", exitCode: .readError)
            }
            if isUpload || status.st_mode & S_IFMT == S_IFREG && status.st_size > 0 {
                return .file(URL(fileURLWithPath: path))
            }
            // Files in `/proc` report size 0 but are not empty.
            if status.st_mode & S_IFMT == S_IFREG, try isEmpty(path) { return .data(Data()) }
            return .stream(URL(fileURLWithPath: path))
        }
    }

    private static func isEmpty(_ path: String) throws(UsageError) -> Bool {
        do {
            return try FileContents.read(path, atMost: 1).isEmpty
        } catch {
            throw UsageError("cannot read '\(path)': \(error.reason)", exitCode: .readError)
        }
    }
}
