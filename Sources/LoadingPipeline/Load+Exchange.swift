internal import LoadingConnections
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// What the exchange has to say: the head of a response, which may be a redirect, its body and how it ended.
extension Load {
    func exchangeSentBody(_ bytes: Int64, total: Int64) {
        exchangeIsActive()
        uploading?.sentBytes = total
        client?.load(self, didSendBody: bytes, total: total &+ (uploading?.part.offset ?? 0))
    }

    func exchangeReceived(informational head: ResponseHead) {
        exchangeIsActive()
        client?.load(self, didReceiveInformational: head)
        guard head.status == 104, let uploading else { return }
        switch uploading.received104(head.fields, from: request.urlText) {
        case .fail(let error)?: end(error)
        case .askToMove(let url)?: askToMove(to: url, head)
        default: break
        }
    }

    func exchangeReceived(head: ResponseHead, body: BodyLength) {
        exchangeIsActive()
        takeCookies(of: head)
        environment.transportSecurity.note(
            head.fields, from: request.url, isTrusted: exchange?.isConnectionTrusted ?? false)
        do { try decoding.begin(head, body: body) } catch { return end(error) }
        let expected: Int64 =
            switch body {
            case .none: announcedLength(of: head)
            case .known(let length): decoding.isActive ? -1 : length
            case .unknown, .untilClose: -1
            }
        var response = LoadResponse(url: request.url, head: head, expectedLength: expected)
        response.endsWithConnection = body == .untilClose
        response.hasBody = body != .none && body != .known(0)
        self.response = response
        do { if try isChallenge(response) { return } } catch { return end(error) }
        if isForCache(response) { return }
        if !leadsElsewhere(response) { deliverResponseOrRest() }
    }

    /// Whether a response is a redirect, which is followed or asked about, or ends the load.
    func leadsElsewhere(_ response: LoadResponse) -> Bool {
        guard response.head.status / 100 == 3 else { return false }
        do {
            switch try redirect.next(for: response, to: request) {
            case .follow(let next) where uploading?.isFollowUp == true:
                // Of these requests the client knows nothing; one that would become another is not made, nor one that would
                // take the body to another origin.
                guard next.method == request.method, next.url.isSameOrigin(as: request.url) else { return false }
                followSilently(next)
            case .follow(var next):
                // The client is asked about what would be loaded.
                _ = environment.transportSecurity.upgrade(&next)
                outstanding = .redirect(next)
                applyFlow()
                guard case .now? = client?.load(self, willRedirectTo: next, response: response) else { return true }
                // Nearly always the rest of the response has come with its head, and once that is read the next
                // request can have its connection.
                let answer = LoopBox({ self.answerRedirect(next) })
                environment.loop.post { answer.value() }
            case .leaveHTTP(let redirected):
                // It may be refused, and is then a response like any other.
                var left = request
                if !redirected.keepsBody { left.body = .none }
                outstanding = .redirect(left)
                applyFlow()
                if client?.load(self, leavesHTTPBy: redirected, response: response) == true { return true }
                end(LoadError.unsupportedURL.at(redirected.url))
            case nil: return false
            }
        } catch { end(error) }
        return true
    }

    func deliverResponseOrRest() {
        if let response, continuesUpload(after: response.head) { return }
        if resumption != nil, let response { deliverResumed(response.head) } else { deliverResponse() }
    }

    func deliverResumed(_ head: ResponseHead) {
        guard let decision = resumption?.decide(head), let path = resumption?.download.path else { return }
        switch decision {
        case .append(let offset, _):
            destination = .file(.existing(path: path, offset: offset))
            response?.resumedOffset = offset
            deliverResponse()
        case .replace:
            deliverResponse()
        case .restart:
            dropExchange()
            resumption?.restart(&request)
            beginFetch(.retry)
        case .fail(let error):
            end(error)
        }
    }

    /// What a response without a body says its length would be: a HEAD's answer tells that of the GET.
    func announcedLength(of head: ResponseHead) -> Int64 {
        guard request.method == "HEAD" else { return 0 }
        return max(-1, head.fields.firstValue("Content-Length").flatMap { Int64($0) } ?? -1)
    }

    func deliverResponse() {
        guard let response, let client else { return }
        if beginParts(of: response) { return }
        if response.startOfBody == nil, dependsOnBody(response) { return lookAtBody(of: response) }
        outstanding = .response
        guard case .now = client.load(self, didReceive: response) else {
            // The client may want the connection itself from here on.
            if !response.isPart { exchange?.holdRest() }
            return applyFlow()
        }
        answerResponse()
    }

    func follow(_ next: LoadRequest) {
        keepRedirect()
        dropExchange()
        response = nil
        forgetAnswers()
        let priority = request.priority
        request = next
        request.priority = priority
        if !next.hasBody, uploading?.isFollowUp == false { uploading = nil }
        resumption?.ask(&request)
        beginFetch(.redirect)
    }

    func exchangeReceived(body bytes: UnsafeRawBufferPointer) {
        exchangeIsActive()
        if isFlowing, backlog.count == 0 {
            var input = bytes
            process(&input)
            if !input.isEmpty { putBy(input) }
        } else {
            putBy(bytes)
            if backlog.count >= Self.mostChallengeBody { applyFlow() }
        }
    }

    func exchangeBuffer(most: Int) -> UnsafeMutableRawBufferPointer? {
        guard isFlowing, backlog.count == 0, !decoding.isActive, parts == nil else { return nil }
        if collector != nil { return collector?.room(most) }
        guard let buffer = buffer ?? ReadBuffers.take() else { return nil }
        self.buffer = buffer
        return UnsafeMutableRawBufferPointer(start: buffer, count: min(most, ReadBuffers.size))
    }

    func exchangeFilled(_ count: Int) {
        guard count > 0 else { return }
        exchangeIsActive()
        if collector != nil {
            collector?.filled(count)
            collected(count)
        } else if isFlowing {
            deliverBuffer(count)
        } else if let buffer {
            putBy(UnsafeRawBufferPointer(start: buffer, count: count))
        }
    }

    func exchangePipe() -> Int32? {
        guard isFlowing, backlog.count == 0, !decoding.isActive, parts == nil, let writer else { return nil }
        return writer.entrance
    }

    func exchangeFilledPipe(_ count: Int) {
        exchangeIsActive()
        deliveredBytes += Int64(count)
        writer?.filledEntrance(count)
        isFull = true
        applyFlow()
    }

    func exchangeEnded(bodyBytes: Int64) {
        exchangeIsActive()
        wireBytes = bodyBytes
        // Whatever becomes of the request, the response is over; nobody has been given any of it.
        switch outstanding {
        case .redirect, .challenge: record(.responseEnded(bytes: bodyBytes, decoded: 0))
        case .nothing, .startOfBody, .response, .uploadMove: break
        }
        finishBody(.complete)
    }

    /// - Parameter loss: How the request was lost before, if it was: it has been on its way, and that is what is waited for
    ///   before alone (CONN-11).
    func exchangeFoundNoWay(_ failure: ConnectionFailure, after loss: LoadError?) {
        let meaning = ConnectivityStage.meaning(of: failure)
        if let loss, connectivity.shouldWait(after: meaning) { return exchangeFailed(loss) }
        if request.waitsForConnectivity, connectivity.shouldWait(after: meaning) { return waitForConnectivity() }
        if !continuesUpload(after: meaning.error, isConnecting: true) { end(meaning.error) }
    }

    func exchangeFailed(_ error: LoadError) {
        if continuesUpload(after: error, isConnecting: false) { return }
        // What came before the failure is the client's (T-38).
        if response != nil { finishBody(.failed(error)) } else { end(error) }
    }

    func waitForConnectivity() {
        exchange = nil
        state = .waitingForConnectivity
        record(.waitingForConnectivity)
        if connectivity.tellsClient() { client?.loadIsWaitingForConnectivity(self) }
        connectivity.waitForRoute(on: environment.loop) { [weak self] in
            guard let self, case .waitingForConnectivity = self.state else { return }
            self.beginFetch(.retry)
        }
    }
}
