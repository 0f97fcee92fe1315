import Foundation
import LoadingConnections
import LoadingSemantics
import LoadingTransport
import TestSupport

@testable import LoadingPipeline

/// Transfers of one environment, with stores in memory, and what they report.
final class TransferRuns: @unchecked Sendable {
    // Sendable because the environment, the stores and the transfers are used on the loop only.

    let folder: TemporaryDirectory
    let loop = EventLoops.assign()
    let cookies = MemoryCookieStore()
    let credentials = MemoryCredentialStore()
    let responses = MemoryResponseStore()
    let hosts = HSTSStore(suffixes: .topLevelDomains)
    private let pool: ConnectionPool
    private let environment: LoadingEnvironment

    init() throws {
        folder = try TemporaryDirectory()
        pool = ConnectionPool(
            loop: loop, security: ConnectionSecurity(TLSConfiguration(), clock: loop.clock), maximumPerHost: 2)
        environment = LoadingEnvironment(
            loop: loop, pool: pool,
            transportSecurity: TransportSecurityStage(hosts: hosts, rules: nil),
            proxies: nil, clearDefaults: HTTPFields(), secureDefaults: HTTPFields())
        environment.cookies = cookies
        environment.credentials = credentials
        environment.responses = responses
    }

    func end() { loop.post { self.pool.shutDown() } }

    func request(_ url: URL) -> TransferRequest { TransferRequest(url: url.absoluteString, folder: folder.path) }

    func begin(_ request: TransferRequest) -> Run {
        let run = Run()
        loop.post {
            let transfer = Transfer(request, in: self.environment) { run.reports.record($0) }
            run.transfer = transfer
            transfer.start()
        }
        return run
    }

    final class Run: @unchecked Sendable {
        // Sendable because the transfer is used on the loop only.
        let reports = EventRecorder<TransferReport>()
        var transfer: Transfer?

        /// All reports up to the end, in short.
        func outcome() async throws -> [String] {
            try await reports.waitUntil("the end") { $0.last?.event.isEnd == true }.map(\.event.short)
        }

        /// The text of the file that the transfer has written.
        var text: String? {
            guard case .finished(let file)? = reports.events.last?.event else { return nil }
            return try? String(contentsOfFile: file, encoding: .utf8)
        }

        var resumption: TransferResumption? {
            if case .failed(_, let resumption)? = reports.events.last?.event { resumption } else { nil }
        }
    }

    func run(_ request: TransferRequest) async throws -> (outcome: [String], text: String?) {
        let run = begin(request)
        return (try await run.outcome(), run.text)
    }
}

extension TransferReport.Event {
    var short: String {
        switch self {
        case .waitingForConnectivity: "waiting"
        case .upgraded(let url): "upgraded \(url)"
        case .redirected(let head, let url): "redirected \(head.status) \(URL(string: url)?.path ?? "")"
        case .challenge(let challenge): "challenge \(challenge.realm ?? "") \(challenge.failures)"
        case .challengeWithdrawn: "withdrawn"
        case .response(let head, let length, let offset): "response \(head.status) \(length) \(offset)"
        case .progress(let progress):
            "progress \(progress.sent)/\(progress.toSend) \(progress.received)/\(progress.toReceive)"
        case .metrics: "metrics"
        case .finished: "finished"
        case .failed(let failure, let resumption): "failed \(failure.code)\(resumption == nil ? "" : " resumable")"
        }
    }
}
