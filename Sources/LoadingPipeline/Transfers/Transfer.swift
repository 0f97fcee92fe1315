package import FoundationEssentials
internal import Glibc
package import LoadingConnections
internal import LoadingEvents
package import LoadingSemantics
internal import LoadingTransport

/// A transfer between a file and a server without a session: it takes a `TransferRequest`, sends numbered
/// `TransferReport`s, and takes a `TransferAnswer` for each challenge. It drives an `HTTPLoad`, as a task does, with
/// the stores of its environment.
///
/// Confined to the environment's loop. Redirects are followed (BG-4). Server trust is evaluated by the default rules,
/// unless the request requires a decision.
package final class Transfer: LoadClient {
    package let request: TransferRequest
    private let environment: LoadingEnvironment
    private let report: (TransferReport) -> Void
    private let log = EventLog()
    private let created = EventLog.now
    private var load: HTTPLoad?
    private var lastReport: UInt64 = 0
    /// The identifier of the challenge whose answer the load waits for.
    private var openChallenge: UInt64?
    /// The challenge of a handshake that is open.
    private var openHandshake: ConnectionChallenge?
    private var progress = TransferProgress()
    private var redirects: RedirectChanges?

    /// - Parameter report: Called on the loop.
    package init(
        _ request: TransferRequest, in environment: LoadingEnvironment, report: @escaping (TransferReport) -> Void
    ) {
        self.request = request
        self.environment = environment
        self.report = report
    }

    // MARK: From the owner

    /// Begins the transfer, which reports its end exactly once.
    package func start() {
        guard load == nil, lastReport == 0 else { return }
        do throws(LoadError) {
            let load = try makeLoad()
            self.load = load
            load.start(.first)
        } catch {
            end(error, body: .nothing)
        }
    }

    package func suspend() { load?.suspend() }
    package func resume() { load?.resume() }
    /// The point from which another transfer could resume if this one were gone now. The bytes received are those in
    /// the file by then.
    package var resumptionUnderWay: TransferResumption? {
        // A resumed download goes on in the file that it was given, which need not be in the folder of the request.
        guard let load, let point = load.resumePointUnderWay, let path = load.filePath else { return nil }
        return .download(TransferResumption.Download(point, path: path))
    }

    package func setPriority(_ priority: Float) { load?.setPriority(priority) }

    /// Ends the transfer with −999, and with a `TransferResumption` if another transfer can resume.
    package func cancel() { load?.cancel(.cancelled) }

    /// Drops an answer to another challenge.
    package func answer(_ answer: TransferAnswer) {
        guard answer.challenge == openChallenge, let load else { return }
        openChallenge = nil
        if let handshake = openHandshake {
            openHandshake = nil
            return self.answer(handshake, answer.decision)
        }
        switch answer.decision {
        case .credential(let user, let password, let isKept):
            load.answerChallenge(.credential(LoadCredential(user: user, password: password, isKept: isKept)))
        case .defaultHandling: load.answerChallenge(.defaultHandling)
        case .rejectProtectionSpace: load.answerChallenge(.nextSpace)
        case .cancel: cancel()
        // These are about handshakes.
        case .trust, .distrust, .identity: load.answerChallenge(.defaultHandling)
        }
    }

    private func answer(_ handshake: ConnectionChallenge, _ decision: TransferAnswer.Decision) {
        switch decision {
        case .trust(let isEvaluated): handshake.answer(.trust(isEvaluated: isEvaluated))
        case .distrust, .rejectProtectionSpace: handshake.answer(.distrust)
        case .cancel:
            handshake.answer(.distrust)
            cancel()
        case .identity(let certificates, let key):
            let identity = CertificateChain(der: certificates.map { [UInt8]($0) }).flatMap {
                try? TLSIdentity(chain: $0, privateKey: [UInt8](key))
            }
            handshake.answer(identity.map { .identity($0) } ?? .defaultHandling)
        case .defaultHandling, .credential: handshake.answer(.defaultHandling)
        }
    }

    private func makeLoad() throws(LoadError) -> HTTPLoad {
        let next = try LoadRequest(request, on: environment.loop)
        var destination = BodyDestination.file(.newFile(inFolder: request.folder))
        if case .download(let download)? = request.resumption, let stopped = download.stopped {
            destination = .stopped(stopped)
        }
        let load = HTTPLoad(next, in: environment, destination: destination, log: log, client: self)
        if request.bodyFile != nil, request.isUpload {
            var stopped: StoppedUpload?
            if case .upload(let upload)? = request.resumption { stopped = upload.stopped }
            load.makeResumable(stopped)
        }
        return load
    }

    private func notify(_ event: TransferReport.Event) {
        lastReport += 1
        report(TransferReport(number: lastReport, event: event))
    }

    private func end(_ error: LoadError?, body: LoadedBody) {
        load = nil
        openChallenge = nil
        openHandshake = nil
        let wall = Double(environment.loop.clock.wallNow) / 1e9 - Double(EventLog.now - created) / 1e9
        notify(.metrics(TransferMetrics(created: created, createdWall: wall, events: log.events)))
        switch (error, body) {
        case (nil, .file(let path)): notify(.finished(file: path))
        // A file is the only destination of a transfer.
        case (nil, _): notify(.failed(TransferFailure(LoadError(code: LoadError.cannotCreateFile(0).code)), nil))
        case (let error?, .stopped(let path, let point?)):
            notify(.failed(TransferFailure(error), .download(TransferResumption.Download(point, path: path))))
        case (let error?, .stopped(let path, nil)):
            environment.loop.callOut(CalledOut { _ = unlink(path) })
            notify(.failed(TransferFailure(error), nil))
        case (let error?, .unsent(let stopped)):
            notify(.failed(TransferFailure(error), .upload(TransferResumption.Upload(stopped))))
        case (let error?, _): notify(.failed(TransferFailure(error), nil))
        }
    }

    // MARK: From the load

    package func loadIsWaitingForConnectivity(_ load: any Load) { notify(.waitingForConnectivity) }
    /// The next attempt is made by the owner, which lets other transfers run meanwhile (BG-8).
    package var waitsForRouteToServer: Bool { false }

    package func load(_ load: any Load, isUpgradedTo url: String) {
        redirects?.url = url
        notify(.upgraded(url: url))
    }

    package func load(_ load: any Load, didReceive response: LoadResponse) -> ClientAnswer<Void> {
        let offset = response.resumedOffset ?? 0
        progress.received = offset
        progress.toReceive = response.expectedLength < 0 ? -1 : offset + response.expectedLength
        notify(
            .response(
                head(of: response), expectedLength: progress.toReceive, resumedOffset: offset))
        return .now
    }

    private func head(of response: LoadResponse) -> TransferHead {
        TransferHead(response.head, url: load?.request.urlText ?? request.url, redirects: redirects)
    }

    package func load(
        _ load: any Load, willRedirectTo proposed: LoadRequest, response: LoadResponse
    ) -> ClientAnswer<Void> {
        if let request = self.load?.request {
            redirects = RedirectChanges(from: request, to: proposed, after: redirects)
        }
        notify(.redirected(head(of: response), url: proposed.urlText))
        return .now
    }

    package func load(_ load: any Load, isAsked question: AuthenticationQuestion, by response: LoadResponse?) {
        let proposal = question.failures == 0 ? question.proposal : nil
        if let user = proposal?.user, let password = proposal?.password {
            return load.answerChallenge(
                .credential(LoadCredential(user: user, password: password, isKept: true, object: proposal?.object)))
        }
        if question.isQuiet { return load.answerChallenge(.defaultHandling) }
        openHandshake = nil
        ask(TransferChallenge(question))
    }

    private func ask(_ challenge: TransferChallenge) {
        openChallenge = challenge.identifier
        notify(.challenge(challenge))
    }

    package var wantsConnectionChallenges: Bool { request.asksServerTrust }

    package func load(_ load: any Load, asks question: ConnectionChallenge) -> Bool {
        let challenge: TransferChallenge
        switch question.subject {
        case .serverTrust(let peer) where request.asksServerTrust:
            challenge = TransferChallenge(peer, of: question.key)
        case .clientCertificate(let identity) where request.asksServerTrust && request.asksForIdentity == true:
            challenge = TransferChallenge(identity, of: question.key)
        case .serverTrust, .clientCertificate, .tunnel: return false
        }
        openHandshake = question
        question.onWithdrawal = { [weak self, weak question] in
            guard let self, let question, openHandshake === question else { return }
            loadAsksNoMore(load)
        }
        ask(challenge)
        return true
    }

    package func loadAsksNoMore(_ load: any Load) {
        if openChallenge == nil { return }
        openChallenge = nil
        openHandshake = nil
        notify(.challengeWithdrawn)
    }

    package func load(_ load: any Load, hasWritten count: Int64) {
        progress.received += count
        notify(.progress(progress))
    }

    package func load(_ load: any Load, willSendBodyOf length: Int64) { progress.toSend = length }

    package func load(_ load: any Load, didSendBody bytes: Int64, total: Int64) {
        progress.sent = total
        notify(.progress(progress))
    }

    package func load(_ load: any Load, didEndWith error: LoadError?, body: LoadedBody) { end(error, body: body) }

    // MARK: Callbacks that a transfer does not use

    package var wantedParts: WantedParts { .none }
    package func load(_ load: any Load, didReceiveInformational head: ResponseHead) {}
    package func load(_ load: any Load, didReceive response: SourceResponse) -> ClientAnswer<Void> { .now }
    package func load(
        _ load: any Load, leavesHTTPBy redirected: RedirectedRequest, response: LoadResponse
    ) -> Bool { false }
    package func load(
        _ load: any Load, asksToMoveUploadTo proposed: LoadRequest, response: LoadResponse
    ) -> Bool { false }
    package func load(_ load: any Load, transactionEnded response: LoadResponse?) {}
    package func load(
        _ load: HTTPLoad, willStore entry: CacheEntry, _ lookup: @autoclosure () -> PendingLookup<CacheEntry?>
    ) -> ClientAnswer<CacheEntry?> { .now(entry) }
    package func load(_ load: any Load, didReceive data: Data) -> Bool { true }
    package func load(_ load: any Load, hasCollected total: Int64) {}
    package func load(_ load: any Load, needsBodyFrom offset: Int64) {}
}
