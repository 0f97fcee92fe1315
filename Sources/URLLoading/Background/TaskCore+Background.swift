internal import BackgroundTransfers
internal import Foundation
internal import LoadingConnections
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport
internal import Synchronization

/// A task of a background session: what the service reports of it. On the loop.
extension TaskCore {
    /// The identifier for the program, which may have to wait for it.
    var shownIdentifier: Int { background?.session.awaitIdentifier(number) ?? number }

    var wantsDelays: Bool { !delegates.lack([.taskWillBeginDelayedRequest, .taskWillBeginDelayedRequestAsync]) }

    /// Takes the values of a task that the service has. Returns its public object.
    func restore(_ state: TransferState) -> URLSessionTask {
        let object = newTaskObject()
        let request = state.description.request
        locked { values in
            values.taskDescription = request.taskDescription
            values.priority = request.priority
            values.earliestBeginDate = request.earliestBegin.map { Date(timeIntervalSince1970: $0) }
            values.expectsToSend = state.description.expectsToSend
            values.expectsToReceive = state.description.expectsToReceive
            if state.isSuspended {
                values.knownTask = object
                return
            }
            values.state = .running
            values.suspensionCount = 0
            values.hasStarted = true
            values.task = object
        }
        return object
    }

    /// Resumed for the first time.
    func beginInBackground(_ load: BackgroundLoad) {
        guard !hasEnded else { return }
        droppedFields = load.fieldsDroppedFirst
        showAdditionalFields(in: currentRequest ?? originalRequest)
        if fetches.isEmpty { fetches = [URLSessionTaskMetrics.Fetch(request: currentRequest ?? originalRequest)] }
        load.start(.first)
    }

    // MARK: Reports

    func receiveInBackground(_ head: TransferHead, expectedLength: Int64, resumedOffset: Int64) {
        // The redirects may have been followed while the session was not attached.
        if let redirects = head.redirects, let current = currentRequest, current.url?.absoluteString != redirects.url {
            setCurrentRequest(current.redirected(to: redirects.url, redirects), after: redirects)
        }
        guard let url = URL(string: head.url) ?? currentRequest?.url else { return }
        let rest = expectedLength >= 0 ? expectedLength &- resumedOffset : NSURLSessionTransferSizeUnknown
        let shown = HTTPURLResponse(
            url: url, status: head.status, version: HTTPVersion.http11.text, fields: HTTPFields(head.fields),
            expectedContentLength: rest)
        locked { $0.response = shown }
        note(shown)
        bytesExpectedToReceive.store(expectedLength, ordering: .sequentiallyConsistent)
        if resumedOffset > 0 {
            noteResumption(at: resumedOffset, rest: rest)
        } else {
            bytesReceived.store(0, ordering: .sequentiallyConsistent)
        }
        updateProgress()
    }

    func progressInBackground(_ progress: TransferProgress) {
        let (sent, received) =
            (bytesSent.load(ordering: .relaxed), bytesReceived.load(ordering: .relaxed))
        storeCounters(progress)
        updateProgress()
        if progress.sent > sent, wantsSentBody {
            enqueue(
                .sentBody(
                    count: progress.sent &- sent, total: progress.sent,
                    expected: bytesExpectedToSend.load(ordering: .relaxed)))
        }
        if !isUpload, progress.received > received, wantsWrittenData {
            enqueue(
                .wroteData(
                    count: progress.received &- received, total: progress.received,
                    expected: bytesExpectedToReceive.load(ordering: .relaxed)))
        }
    }

    /// Another attempt begins with that request: its redirects follow again, and its metrics replace those of the
    /// attempt before. The counters fall back (S-96).
    func restartInBackground(_ progress: TransferProgress, with request: URLRequest, without dropped: [String]) {
        if !fetches.isEmpty {
            droppedFields = dropped
            setCurrentRequest(request)
            fetches = [URLSessionTaskMetrics.Fetch(request: request)]
        }
        countInBackground(progress)
    }

    func countInBackground(_ progress: TransferProgress) {
        storeCounters(progress)
        updateProgress()
    }

    private func storeCounters(_ progress: TransferProgress) {
        if progress.toSend >= 0 { bytesExpectedToSend.store(progress.toSend, ordering: .sequentiallyConsistent) }
        storeSent(progress.sent)
        bytesReceived.store(progress.received, ordering: .sequentiallyConsistent)
        if progress.toReceive >= 0, response == nil {
            bytesExpectedToReceive.store(progress.toReceive, ordering: .sequentiallyConsistent)
        }
    }

    /// A redirect was followed (BG-4).
    func redirectInBackground(_ head: TransferHead, _ url: String) {
        guard URL(string: url) != nil, let current = currentRequest else { return }
        if let from = current.url {
            note(
                HTTPURLResponse(
                    url: from, status: head.status, version: HTTPVersion.http11.text, fields: HTTPFields(head.fields),
                    expectedContentLength: -1))
        }
        let next = current.redirected(to: url, head.redirects)
        setCurrentRequest(next, after: head.redirects)
        if !fetches.isEmpty { fetches.append(URLSessionTaskMetrics.Fetch(request: next)) }
    }

    /// Without the fields of the configuration that the redirects have removed.
    private func setCurrentRequest(_ request: URLRequest, after redirects: RedirectChanges?) {
        droppedFields += redirects?.droppedFields ?? []
        setCurrentRequest(request)
    }

    /// The final counters, and the log of the service, from which the metrics are made (BG-25).
    func finishInBackground(_ end: TransferEnd) {
        progressInBackground(end.progress)
        guard wantsMetrics, let metrics = end.metrics else { return }
        // The events are on the clock of the service's boot of the machine.
        let now = EventLog.now
        let wall = Double(loop.clock.wallNow) / 1e9
        let created = now &- Int64((min(max(wall - metrics.createdWall, 0), 1e9) * 1e9).rounded())
        creationTime = created
        let log = EventLog()
        for event in metrics.events { log.record(event.kind, at: event.time &- metrics.created &+ created) }
        self.log = log
        // The service has followed redirects and answered challenges while no program was attached.
        let request = currentRequest ?? originalRequest
        var requests = 1
        for event in metrics.events {
            guard case .fetchStarted(let reason) = event.kind, reason != .first, reason != .retry else { continue }
            requests += 1
        }
        while fetches.count < requests {
            fetches.append(URLSessionTaskMetrics.Fetch(request: request, response: response))
        }
        if let last = fetches.indices.last, fetches[last].response == nil { fetches[last].response = response }
    }

    // MARK: Delayed requests

    /// The date of a delayed request is reached (BG-17).
    func delayIsOver() {
        guard wantsDelays, let request = currentRequest else { return answerDelay(.continueLoading, nil) }
        enqueue(.delayedRequest(request))
    }

    /// The delegate's answer for a delayed request.
    func answerDelay(_ disposition: URLSession.DelayedRequestDisposition, _ request: URLRequest?) {
        switch (disposition, request) {
        case (.cancel, _): cancel(nil)
        case (.useNewRequest, let request?): beginDelayed(request)
        // Without a new request the old one is used.
        case (.continueLoading, _), (.useNewRequest, nil): beginDelayed(nil)
        }
    }

    private func beginDelayed(_ request: URLRequest?) {
        loop.post { [self] in
            guard !hasEnded else { return }
            if let request { replaceRequest(request) }
            background?.begin(request)
        }
    }

    // MARK: Challenges

    func ask(_ challenge: TransferChallenge, _ load: BackgroundLoad) {
        guard let space = URLProtectionSpace(challenge) else { return load.answer(.distrust) }
        let asked = URLAuthenticationChallenge(
            protectionSpace: space, proposedCredential: challenge.proposedUser.map { URLCredential(user: $0) },
            previousFailureCount: challenge.failures, failureResponse: nil, error: nil)
        withdrawChallenge()
        pendingChallenge = ask(asked) { [weak load] answer in
            guard let load, self.pendingChallenge?.challenge === asked else { return }
            self.pendingChallenge = nil
            if asked.protectionSpace.serverTrust != nil {
                self.core.background?.learnedTrust(asks: self.core.asksServerTrust)
            }
            load.answer(self.decision(answer, asked.protectionSpace, load))
        }
    }

    private func decision(
        _ answer: ChallengeAnswer, _ space: URLProtectionSpace, _ load: BackgroundLoad
    ) -> TransferAnswer.Decision {
        if let asked = space.serverTrust {
            switch answer.disposition {
            case .useCredential:
                guard let given = answer.credential?.serverTrust, given.isAboutCertificate(of: asked) else {
                    return .defaultHandling
                }
                return .trust(isEvaluated: given.isTrustedByDefault(for: space.host, as: asked))
            case .performDefaultHandling: return .defaultHandling
            case .rejectProtectionSpace, .cancelAuthenticationChallenge: return .distrust
            }
        }
        if space.distinguishedNames != nil {
            switch answer.disposition {
            case .useCredential: return answer.credential?.tlsIdentity?.decision ?? .defaultHandling
            case .performDefaultHandling, .rejectProtectionSpace: return .defaultHandling
            // The task has been cancelled.
            case .cancelAuthenticationChallenge: return .cancel
            }
        }
        switch answer.disposition {
        case .useCredential:
            guard let credential = answer.credential, let user = credential.user, let password = credential.password
            else { return .defaultHandling }
            let storage = core.configuration.urlCredentialStorage
            let isKept = credential.persistence == .forSession || credential.persistence == .permanent
            if isKept, let storage {
                load.offeredCredential = (
                    ChallengeCredential(credential, isStored: false, removalsBefore: storage.removalCount), space
                )
            }
            return .credential(
                user: user.precomposedStringWithCanonicalMapping,
                password: password.precomposedStringWithCanonicalMapping, isKept: isKept && storage != nil)
        case .performDefaultHandling: return .defaultHandling
        case .rejectProtectionSpace: return .rejectProtectionSpace
        // The task has been cancelled.
        case .cancelAuthenticationChallenge: return .cancel
        }
    }

    // MARK: The end

    /// Makes callbacks of the end, which the service of a background session has to know of.
    func acknowledging(_ step: DeliveryStep, _ callbacks: () -> Void) {
        if let background { background.acknowledging(step, self, callbacks) } else { callbacks() }
    }

    /// Retains the public task for the callbacks of the end, although the task may never have been resumed.
    func holdForEnd() {
        let held = core.waitingTask(number)
        locked { values in
            if values.task == nil { values.task = values.knownTask ?? held }
            core.hold(self)
        }
    }

    /// The service goes on without this program (BG-20): ends without callbacks.
    func leaveToService() {
        guard !hasEnded else { return }
        hasEnded = true
        load = nil
        holdForEnd()
        deliver(TaskEnding(error: nil, body: .nothing, isSilent: true), usesQueue: true)
    }
}

extension SessionCore {
    /// The load of a new task, which the service does not know yet.
    func add(_ task: TaskCore, to background: BackgroundSession) -> BackgroundLoad {
        let load = BackgroundLoad(task, in: background)
        task.background = load
        loop.post {
            task.load = load
            background.add(load)
        }
        return load
    }

    /// Traps for a task that a background session cannot have (T-50, BG-2, BG-3): a programming error that no input can
    /// cause.
    func checkBackground(_ kind: TaskKind, _ result: TaskResult, hasDelegate: Bool) {
        precondition(
            result.isDelegate,
            "Completion handlers and async methods are not supported in background sessions. Use a delegate")
        switch kind {
        case .stream, .webSocket:
            preconditionFailure("Stream and WebSocket tasks are not supported in background sessions")
        // Resume data may have any content, and if it is invalid, an empty body and no URL.
        case .upload(.stream, nil):
            preconditionFailure("Upload tasks from streams are not supported in background sessions")
        case .upload(.data(let data), nil) where !data.isEmpty:
            preconditionFailure("Upload tasks from data are not supported in background sessions. Use a file")
        case .data, .upload, .download: break
        }
        precondition(hasDelegate, "A background session needs a delegate")
    }

    /// A task that the service has. Nil if the session leaves its tasks to the service.
    func adopt(_ state: TransferState, _ session: URLSession, in background: BackgroundSession) -> BackgroundLoad? {
        let description = state.description
        let original =
            URLRequest(archived: description.original) ?? URL(string: description.request.url).map {
                URLRequest(url: $0)
            }
            ?? .withoutURL
        let first = description.request.first(after: original)
        let current = state.head.map { first.redirected(to: $0.redirects?.url ?? $0.url, $0.redirects) } ?? first
        let copy = URL(fileURLWithPath: description.request.bodyFile ?? "", isDirectory: false)
        let kind: TaskKind =
            switch description.kind {
            case .download: .download(nil)
            case .upload:
                .upload(
                    .file(description.uploadPath.map { URL(fileURLWithPath: $0, isDirectory: false) } ?? copy), nil)
            }
        let task = TaskCore(
            of: session, identifier: description.task, kind: kind, request: original, current: current,
            result: .delegate, delegate: nil)
        if description.request.bodyFile != nil {
            // The program may have removed or changed its own file.
            task.bytesExpectedToSend.store(UploadContent.file(copy).knownLength(of: original), ordering: .relaxed)
        }
        let load = BackgroundLoad(task, in: background, state: state)
        task.background = load
        task.load = load
        task.droppedFields = load.fieldsDroppedFirst + (state.head?.redirects?.droppedFields ?? [])
        if !state.isSuspended { task.showAdditionalFields(in: current) }
        let object = task.restore(state)
        guard keep(object, task, isSuspended: state.isSuspended) else {
            // The release of a suspended task would cancel it.
            _ = load.leave()
            return nil
        }
        if let head = state.head {
            task.receiveInBackground(head, expectedLength: state.progress.toReceive, resumedOffset: 0)
        }
        task.fetches = [URLSessionTaskMetrics.Fetch(request: current)]
        load.attachedAgain(state)
        if isCancelling { object.cancel() }
        return load
    }
}

extension SecTrust {
    fileprivate convenience init?(_ challenge: TransferChallenge) {
        guard let chain = CertificateChain(der: challenge.certificates.map { Array($0) }) else { return nil }
        self.init(
            TLSPeer(
                serverName: challenge.host, chain: chain, stapledResponse: challenge.stapledResponse.map { Array($0) }))
    }
}

extension TLSIdentity {
    /// Nil if the key cannot be given to the service.
    fileprivate var decision: TransferAnswer.Decision? {
        guard let chain, let privateKey else { return nil }
        return .identity(certificates: chain.der.map { Data($0) }, key: Data(privateKey))
    }
}

extension URLProtectionSpace {
    /// The space of a challenge that the service has received. Nil if its certificates cannot be read.
    fileprivate convenience init?(_ challenge: TransferChallenge) {
        let method: String
        switch challenge.scheme {
        case .basic: method = NSURLAuthenticationMethodHTTPBasic
        case .digest: method = NSURLAuthenticationMethodHTTPDigest
        case .ntlm: method = NSURLAuthenticationMethodNTLM
        case .negotiate: method = NSURLAuthenticationMethodNegotiate
        case .serverTrust:
            guard let trust = SecTrust(challenge) else { return nil }
            self.init(host: challenge.host, port: Int(challenge.port), serverTrust: trust)
            return
        case .clientCertificate:
            self.init(
                host: challenge.host, port: Int(challenge.port), distinguishedNames: challenge.distinguishedNames ?? [])
            return
        }
        let isSecure = challenge.kind == "https"
        switch challenge.peer {
        case .server:
            self.init(
                host: challenge.host, port: Int(challenge.port),
                protocol: isSecure ? NSURLProtectionSpaceHTTPS : NSURLProtectionSpaceHTTP, realm: challenge.realm,
                authenticationMethod: method)
        case .proxy:
            let type =
                switch challenge.kind {
                case "socks": NSURLProtectionSpaceSOCKSProxy
                case "https": NSURLProtectionSpaceHTTPSProxy
                default: NSURLProtectionSpaceHTTPProxy
                }
            self.init(
                proxyHost: challenge.host, port: Int(challenge.port), type: type, realm: challenge.realm,
                authenticationMethod: method)
        }
    }
}
