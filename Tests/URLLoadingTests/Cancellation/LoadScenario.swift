import Foundation
import TestSupport
import URLLoading

/// A kind of load, from the creation of a task to its end.
struct LoadScenario: Sendable, CustomStringConvertible {
    typealias Load = @Sendable (ScenarioRun, URLSession) async throws -> String

    enum Start: Sendable {
        /// Creates and resumes a task.
        case task(@Sendable (ScenarioRun, URLSession) -> Void)
        /// Awaits a load, and returns its result.
        case call(Load)
    }

    let description: String
    let start: Start
    var configuration: @Sendable () -> URLSessionConfiguration = { .ephemeral }
    /// Runs before checkpoints are recorded.
    var prepare: @Sendable (ScenarioRun) async throws -> Void = { _ in }

    init(_ description: String, task: @escaping @Sendable (ScenarioRun, URLSession) -> URLSessionTask?) {
        self.description = description
        start = .task { task($0, $1)?.resume() }
    }

    init(_ description: String, call: @escaping Load) {
        self.description = description
        start = .call(call)
    }

    /// A changed copy.
    private func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}

extension LoadScenario {
    static let all: [LoadScenario] = data + downloads + uploads + questions + schemes + ftp + [stream]

    private static func text(_ data: Data) -> String { String(decoding: data, as: UTF8.self) }

    private static func post(_ run: ScenarioRun, _ name: String = "body") -> URLRequest {
        URLRequest(url: run.url(name)).with { $0.httpMethod = "POST" }
    }

    private static let data: [LoadScenario] = [
        LoadScenario("data") { $1.dataTask(with: $0.url("hints")) },
        LoadScenario("data, collected") { run, session in
            let task = session.dataTask(with: run.url("body"))
            task.prefersIncrementalDelivery = false
            return task
        },
        LoadScenario("handler") { $1.dataTask(with: $0.url("body"), completionHandler: $0.delegate.calls.handler) },
        LoadScenario("async data") { text(try await $1.data(from: $0.url("body")).0) },
        LoadScenario("async bytes") { run, session in
            let (bytes, _) = try await session.bytes(from: run.url("short"))
            run.reached("bytes")
            var text: [UInt8] = []
            for try await byte in bytes {
                text.append(byte)
                if text.count == 500 { run.reached("half read") }
            }
            return String(decoding: text, as: UTF8.self)
        },
        LoadScenario("parts") { $1.dataTask(with: $0.url("parts")) },
    ]

    private static let downloads: [LoadScenario] = [
        LoadScenario("download") { $1.downloadTask(with: $0.url("body")) },
        LoadScenario("download, handler") { run, session in
            session.downloadTask(with: run.url("body")) { file, _, error in
                let content = file.flatMap { try? Data(contentsOf: $0) }
                run.delegate.calls.record(.handled(content.map(text), nil, error?.urlErrorCode))
            }
        },
        LoadScenario("async download") { run, session in
            let (file, _) = try await session.download(from: run.url("body"))
            defer { try? FileManager.default.removeItem(at: file) }
            return text(try Data(contentsOf: file))
        },
        resumed,
        LoadScenario("data, become a download") { $1.dataTask(with: $0.url("body")) }.with {
            $0.prepare = { run in run.delegate.answer = { $1(.becomeDownload) } }
        },
    ]

    /// Resumes a download that lost its connection.
    private static var resumed: LoadScenario {
        let data = Watched<[Int: Data]>([:])
        return LoadScenario("resumed download") { run, session in
            data.withValue { $0.removeValue(forKey: run.number) }.map { data in
                let task = session.downloadTask(withResumeData: data)
                // Cancelled before it was started, so that the data stays valid.
                if task.state != .suspended { run.resumeDataLeft.record(data) }
                return task
            }
        }.with {
            $0.prepare = { run in
                do {
                    _ = try await run.servers.session.download(from: run.url("rest"))
                } catch let error as URLError {
                    data.withValue { $0[run.number] = error.downloadTaskResumeData }
                }
            }
        }
    }

    private static let uploads: [LoadScenario] = [
        LoadScenario("upload") { $1.uploadTask(with: post($0), from: Data(ScenarioServers.upload)) },
        LoadScenario("upload, handler") {
            $1.uploadTask(
                with: post($0), from: Data(ScenarioServers.upload), completionHandler: $0.delegate.calls.handler)
        },
        LoadScenario("upload of a file") { $1.uploadTask(with: post($0), fromFile: $0.servers.file) },
        LoadScenario("async upload") { text(try await $1.upload(for: post($0), from: Data(ScenarioServers.upload)).0) },
        streamed("upload of a stream", "body"),
        streamed("upload of a stream, redirected", "temporary"),
        streamed("upload of a stream, challenged", "challenge"),
    ]

    private static func streamed(_ description: String, _ name: String) -> LoadScenario {
        LoadScenario(description) { $1.uploadTask(withStreamedRequest: post($0, name)) }.with {
            $0.prepare = { run in
                run.delegate.stream = { $1(InputStream(data: Data(ScenarioServers.upload))) }
                run.delegate.challenge = { $1(.useCredential, ScenarioServers.credential) }
            }
        }
    }

    private static let questions: [LoadScenario] = [
        LoadScenario("redirects") { $1.dataTask(with: $0.url("found")) },
        LoadScenario("redirect, refused") { $1.dataTask(with: $0.url("found")) }.with {
            $0.prepare = { run in run.delegate.redirect = { $1(nil) } }
        },
        LoadScenario("challenge") { $1.dataTask(with: $0.url("challenge")) }.with {
            $0.prepare = { run in run.delegate.challenge = { $1(.useCredential, ScenarioServers.credential) } }
        },
        LoadScenario("challenge, refused") { $1.dataTask(with: $0.url("challenge")) }.with {
            $0.prepare = { run in run.delegate.challenge = { $1(.performDefaultHandling, nil) } }
        },
        LoadScenario("server trust") { $1.dataTask(with: $0.url("body", isSecure: true)) }.with {
            $0.prepare = { run in
                run.delegate.challenge = { challenge, answer in
                    // Answered on another thread, like programs that show a prompt.
                    let trust = challenge.protectionSpace.serverTrust
                    DispatchQueue.global().async { answer(.useCredential, trust.map { URLCredential(trust: $0) }) }
                }
            }
        },
    ]

    private static func ftp(_ run: ScenarioRun, password: String) -> URL {
        run.servers.ftp.url("/body", user: "u\(run.number):\(password)")
    }

    private static let ftp: [LoadScenario] = [
        LoadScenario("ftp") { $1.dataTask(with: ftp($0, password: "secret")) },
        LoadScenario("ftp download") { $1.downloadTask(with: ftp($0, password: "secret")) },
        LoadScenario("ftp, challenged") { $1.dataTask(with: ftp($0, password: "wrong")) }.with {
            $0.prepare = { run in
                let credential = URLCredential(user: "u\(run.number)", password: "secret", persistence: .none)
                run.delegate.challenge = { $1(.useCredential, credential) }
            }
        },
    ]

    /// A data task that becomes a stream, which sends bytes, receives their echo, and is closed.
    private static var stream: LoadScenario {
        LoadScenario("data, become a stream") { run, session in
            var request = URLRequest(url: run.url("switch"))
            request.setValue("echo", forHTTPHeaderField: "Upgrade")
            return session.dataTask(with: request)
        }.with {
            $0.prepare = { run in
                run.delegate.answer = { $1(.becomeStream) }
                run.delegate.becameStream = { [weak run, calls = run.delegate.calls] task in
                    run?.became(task)
                    task.write(Data("ping".utf8), timeout: 0) { [weak run] error in
                        calls.record(.written(error?.urlErrorCode))
                        guard error == nil else { return }
                        run?.reached("written")
                        task.readData(ofMinLength: 4, maxLength: 4, timeout: 0) { [weak run] data, isAtEnd, error in
                            calls.record(.read(data.map(text), isAtEnd, error?.urlErrorCode))
                            guard error == nil else { return }
                            run?.reached("read")
                            task.closeWrite()
                            task.closeRead()
                        }
                    }
                }
            }
        }
    }

    private static let schemes: [LoadScenario] = [
        LoadScenario("file") { $1.dataTask(with: $0.servers.file) },
        LoadScenario("data URL") { $1.dataTask(with: URL(string: "data:,hello") ?? $0.servers.file) },
        LoadScenario("protocol") { run, session in
            let script = ScriptedProtocol.script { [weak run] loading in
                run?.reached("started")
                loading.respond()
                run?.reached("head given")
                loading.load("one")
                run?.reached("half given")
                loading.load("two")
                loading.finish()
            }
            return session.dataTask(with: script.url())
        }.with {
            $0.configuration = {
                let configuration = URLSessionConfiguration.ephemeral
                configuration.usesScripts()
                return configuration
            }
        },
    ]
}
