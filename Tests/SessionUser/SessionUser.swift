import Foundation
import URLLoading

/// A program with one session, which is started by tests:
/// `session-user KIND [without-keys] [keep USER PASSWORD REALM | download | cancelled | http3] URL…`
///
/// KIND is `default` or `ephemeral`. It loads the URLs one after the other, prints the status and the body of each in a
/// line, or the code and the text of its error, and ends without waiting for anything; an ephemeral one flushes and
/// resets its session before. With `keep` it has a permanent password for the server of the first URL. With `download`
/// it downloads the URLs, and holds the errors to its end. With `cancelled` no task is begun: each is cancelled before.
/// With `http3` the servers are assumed to support HTTP/3. With `without-keys` it writes no TLS keys.
/// `session-user import` reads nothing as a PKCS #12 archive, and prints the status.
/// `session-user forked URL`, `session-user forked-often URL`, `session-user without-threads URL` and
/// `session-user without-descriptors URL` are those of ``LimitedProcess``.
@main enum SessionUser {
    static func main() async {
        var arguments = CommandLine.arguments.dropFirst()
        let kind = arguments.popFirst()
        let limited: ((URL) -> Void)? =
            switch kind {
            case "forked": LimitedProcess.fork
            case "forked-often": LimitedProcess.forkOften
            case "without-threads": LimitedProcess.loadWithoutThreads
            case "without-descriptors": LimitedProcess.loadWithoutDescriptors
            default: nil
            }
        if let limited {
            guard let url = arguments.first.flatMap({ URL(string: $0) }) else { exit(2) }
            limited(url)
            fflush(nil)
            exit(0)
        }
        if kind == "import" {
            var items: CFArray?
            let status = SecPKCS12Import(Data() as CFData, [:] as CFDictionary, &items)
            print(status, SecCopyErrorMessageString(status, nil) ?? "")
            fflush(nil)
            exit(0)
        }
        if arguments.first == "without-keys" {
            arguments.removeFirst()
            URLSession.writesTLSKeys = false
        }
        let isEphemeral = kind == "ephemeral"
        let configuration: URLSessionConfiguration = isEphemeral ? .ephemeral : .default
        if arguments.first == "keep" {
            let words = Array(arguments.prefix(5))
            arguments = arguments.dropFirst(4)
            guard words.count == 5, let url = URL(string: words[4]) else { exit(2) }
            let space = URLProtectionSpace(
                host: url.host ?? "", port: url.port ?? 80, protocol: url.scheme, realm: words[3],
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
            configuration.urlCredentialStorage?.setDefaultCredential(
                URLCredential(user: words[1], password: words[2], persistence: .permanent), for: space)
        }
        let session = URLSession(configuration: configuration)
        if arguments.first == "download" {
            var errors: [any Error] = []
            for argument in arguments.dropFirst() {
                guard let url = URL(string: argument) else { exit(2) }
                do {
                    print(try await session.download(from: url).0.path)
                } catch {
                    errors.append(error)
                    print("failed", (error as? URLError)?.code.rawValue ?? 0)
                }
            }
            fflush(nil)
            withExtendedLifetime(errors) { exit(0) }
        }
        if arguments.first == "cancelled" {
            for argument in arguments.dropFirst() {
                guard let url = URL(string: argument) else { exit(2) }
                let code = await withCheckedContinuation { continuation in
                    session.dataTask(with: url) { _, _, error in
                        continuation.resume(returning: (error as? URLError)?.code.rawValue ?? 0)
                    }.cancel()
                }
                print("failed", code)
            }
            arguments = []
        }
        let assumesHTTP3 = arguments.first == "http3"
        if assumesHTTP3 { arguments.removeFirst() }
        for argument in arguments {
            guard let url = URL(string: argument) else { exit(2) }
            var request = URLRequest(url: url)
            request.assumesHTTP3Capable = assumesHTTP3
            do {
                let (data, response) = try await session.data(for: request)
                print((response as? HTTPURLResponse)?.statusCode ?? 0, String(decoding: data, as: UTF8.self))
            } catch {
                print("failed", (error as? URLError)?.code.rawValue ?? 0, error.localizedDescription)
            }
        }
        if isEphemeral {
            await withCheckedContinuation { continuation in session.flush { continuation.resume() } }
            await withCheckedContinuation { continuation in session.reset { continuation.resume() } }
        }
        fflush(nil)
        exit(0)
    }
}
