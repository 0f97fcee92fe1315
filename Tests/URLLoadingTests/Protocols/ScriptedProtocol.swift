import Foundation
import TestSupport
import URLLoading

/// A scripted custom protocol for the requests of one host.
class ScriptedProtocol: URLProtocol, @unchecked Sendable {
    // Sendable: it has nothing that changes.

    /// The script and the recorded calls of one host.
    final class Script: Sendable {
        let host: String
        /// All calls, in order.
        let calls = EventRecorder<String>()
        let start: @Sendable (ScriptedProtocol) -> Void

        fileprivate init(_ host: String, _ start: @escaping @Sendable (ScriptedProtocol) -> Void) {
            self.host = host
            self.start = start
        }

        func url(_ path: String = "/") -> URL { URL(string: "mock://\(host)\(path)") ?? URL(fileURLWithPath: path) }
    }

    private static let scripts = Watched<[String: Script]>([:])

    /// Creates a script with its own host, whose loads run `start`.
    static func script(_ start: @escaping @Sendable (ScriptedProtocol) -> Void) -> Script {
        let script = Script("host-\(UUID().uuidString.lowercased())", start)
        scripts.withValue { $0[script.host] = script }
        return script
    }

    var script: Script? { Self.script(of: request) }

    private static func script(of request: URLRequest) -> Script? {
        request.url?.host.flatMap { host in scripts.current[host] }
    }

    override class func canInit(with request: URLRequest) -> Bool { script(of: request) != nil }

    override func startLoading() {
        script?.calls.record("start")
        script?.start(self)
    }

    override func stopLoading() { script?.calls.record("stop") }

    // MARK: What a protocol says

    func respond(_ status: Int = 200, _ fields: [String: String] = [:]) {
        guard let url = request.url,
            let response = HTTPURLResponse(
                url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
        else { return }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
    }

    func load(_ text: String) { client?.urlProtocol(self, didLoad: Data(text.utf8)) }

    func finish() { client?.urlProtocolDidFinishLoading(self) }

    func fail(_ error: any Error) { client?.urlProtocol(self, didFailWithError: error) }

    func redirect(_ status: Int = 302, to url: URL) {
        guard let from = request.url,
            let response = HTTPURLResponse(
                url: from, statusCode: status, httpVersion: "HTTP/1.1", headerFields: ["Location": url.absoluteString])
        else { return }
        client?.urlProtocol(self, wasRedirectedTo: URLRequest(url: url), redirectResponse: response)
    }

    func answer(_ text: String) {
        respond()
        load(text)
        finish()
    }
}

extension URLSessionConfiguration {
    func usesScripts() { protocolClasses = [ScriptedProtocol.self] }
}
