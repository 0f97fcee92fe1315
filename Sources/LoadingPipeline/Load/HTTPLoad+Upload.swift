internal import LoadingConnections
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// Uploads that resume after their connection was lost.
extension HTTPLoad {
    /// Makes the load an upload that can resume, or that resumes a stopped one. Called before the load starts.
    package func makeResumable(_ stopped: StoppedUpload?) {
        guard
            stopped != nil
                || request.hasBody && ResumableUpload.isPossible(method: request.method, fields: request.fields)
        else { return }
        uploading = UploadResumptionStage(request, resuming: stopped)
    }

    /// Whether the upload handles this head, so that it is not delivered: the upload then resumes or fails.
    func continuesUpload(after head: ResponseHead) -> Bool {
        guard let uploading else { return false }
        return perform(uploading.received(head), after: nil)
    }

    /// Whether the upload resumes after its connection was lost or could not be made.
    func continuesUpload(after error: LoadError, isConnecting: Bool) -> Bool {
        guard let uploading, response == nil, error.isConnectionLoss || isConnecting && uploading.isFollowUp else {
            return false
        }
        // A certificate that was refused once is refused again.
        guard !(-1299 ... -1200 ~= error.code) else { return false }
        if uploading.isAskingToMove {
            // The client's answer decides whether the upload can resume.
            exchange = nil
            uploadLoss = error
            machine.apply(.asks(.uploadMove))
            return true
        }
        return perform(uploading.interrupted(), after: error)
    }

    /// False if the response or the error is to be delivered to the client.
    private func perform(_ step: UploadStep, after error: LoadError?) -> Bool {
        switch step {
        case .deliver:
            outdateUploaded()
            return false
        case .giveUp:
            if error == nil { end(.networkConnectionLost) }
            return error == nil
        case .fail(let failure): end(failure)
        case .send(let next, let pause): send(next, pause)
        // Only a 104 causes this step.
        case .askToMove: return false
        }
        return true
    }

    /// Asks the client whether the upload may resume at another origin. Without an answer it may not.
    func askToMove(to url: String, _ head: ResponseHead) {
        guard let uploading, let client, let proposed = uploading.proposal(to: url) else { return }
        let response = LoadResponse(url: request.url, head: head, expectedLength: 0)
        uploading.isAskingToMove = client.load(self, asksToMoveUploadTo: proposed, response: response)
    }

    /// The client's answer: the URL at which the upload may resume; nil if it may not. Without the fields of these
    /// names.
    package func answerUploadMove(_ url: String?, without names: [String]) {
        environment.loop.checkConfinement(of: "A load")
        guard let uploading, uploading.isAskingToMove, !machine.hasEnded else { return }
        uploading.isAskingToMove = false
        if let url { uploading.move(to: url, without: names) }
        guard machine.stage == .uploadMove, let error = uploadLoss else { return }
        uploadLoss = nil
        noteActivity()
        if !perform(uploading.interrupted(), after: error) { end(error) }
    }

    /// The upload has ended. Removes the stored responses that it made outdated. The cache does not do
    /// that, because it does not see follow-up requests.
    private func outdateUploaded() {
        guard let uploading, let response else { return }
        let keys = uploading.outdatedKeys(response.head, to: request)
        if !keys.isEmpty { environment.responses?.remove(keys, of: self, since: nil) }
    }

    private func send(_ next: UploadRequest, _ pause: Int) {
        guard let uploading else { return }
        dropExchange()
        let priority = request.priority
        do throws(LoadError) { request = try uploading.request(for: next) } catch { return end(error) }
        // Each request of an upload may be redirected as often as the task's own.
        redirect = RedirectStage()
        request.priority = priority
        guard pause > 0 else { return fetch(.retry) }
        guard machine.receive(.pauses) else { return }
        forgetResponse()
        uploading.pause(pause, on: environment.loop) { [weak self] in
            guard let self, machine.receive(.passed(.uploadPause)) else { return }
            beginFetch(.retry)
        }
    }
}
