package import FoundationEssentials
package import LoadingConnections
package import LoadingEvents
package import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

/// An `ftp:` URL (MISC-17): a file or a directory listing, over connections of its own.
///
/// **Login.** First with the URL's user, else with the credential known to this session, else anonymously. After a
/// refusal the client is asked (AUTH-4 to AUTH-11). No connection is open meanwhile, because the answer may take any
/// time and servers do not wait.
///
/// **Connectivity.** If there is no route for the control connection, the load waits for one (CONN-14), if it may.
package final class FTPSource: LoadSource, FTPConnectionObserver, RouteSelectorOwner {
    private let url: FTPURL
    private let urlText: String
    private let originalURLText: String
    private let isDownload: Bool
    private let service: NetworkService
    private let waitsForConnectivity: Bool
    private let environment: LoadingEnvironment
    private var stopped: StoppedDownload?
    private let space: ProtectionSpace

    private weak var load: SourceLoad?
    private var search: ProxySearch?
    /// Set if there are several routes.
    private var routeSelector: RouteSelector?
    private var connection: FTPConnection?
    private var connectivity = ConnectivityStage()
    private var control = ControlConnection.none
    private var isPaused = false
    /// A response that waits for the first bytes, which determine its type.
    private var heldResponse: SourceResponse?
    private var transfer: FTPTransfer?
    /// Whether the file was modified so short a time ago that it may change once more within the same second, which its
    /// time would not show.
    private var isJustModified = false

    /// How many credentials of the delegate or the storage may be refused in one load.
    private static let mostLogins = 64

    // The user.
    private var attempt = Attempt.anonymous
    private var refusal: LoadError?
    private var refused: LoadCredential?
    private var failures = 0
    private var credentialLookup: PendingLookup<ProposedCredential?>?
    /// The user for proxies that open tunnels.
    private var tunnelAuthentication: TunnelAuthentication?

    private enum ControlConnection {
        case none
        /// There is a route again, but the load is paused.
        case postponed
        case established
    }

    private enum Attempt {
        case anonymous
        case ofURL(user: String, password: String?)
        case known(LoadCredential)
        case given(LoadCredential)
    }

    /// - Parameters:
    ///   - urlText: The same URL as given by the caller.
    ///   - isDownload: Whether another load may resume this one.
    ///   - stopped: The stopped download that this one resumes.
    ///   - service: The requirements of its connections on the network.
    ///   - waitsForConnectivity: Whether it waits for a route to the server if there is none.
    package init(
        _ url: FTPURL, urlText: String, isDownload: Bool, resuming stopped: StoppedDownload?,
        service: NetworkService, waitsForConnectivity: Bool, in environment: LoadingEnvironment
    ) {
        self.url = url
        self.urlText = urlText
        self.isDownload = isDownload
        self.stopped = stopped
        self.service = service
        self.waitsForConnectivity = waitsForConnectivity
        self.environment = environment
        originalURLText = stopped?.point.originalURL ?? urlText
        space = ProtectionSpace(
            kind: .server(.ftp), host: url.host, port: url.port, realm: nil, scheme: .basic)
    }

    // MARK: From the load

    package func start(for load: SourceLoad) {
        self.load = load
        if let credential = url.credential {
            attempt = .ofURL(user: credential.user, password: credential.password)
        } else if let known = environment.authentication.login(in: space),
            environment.credentials?.mayUse(known, for: space) == true
        {
            attempt = .known(known)
        }
        connect()
    }

    package func setPaused(_ isPaused: Bool) {
        self.isPaused = isPaused
        if !isPaused, control == .postponed { return connectAgain() }
        connection?.setPaused(isPaused)
        if isPaused {
            routeSelector?.stopTimer()
        } else if pendingPhase != nil {
            routeSelector?.startTimer()
        }
    }

    package func stop() {
        load = nil
        search?.cancel()
        search = nil
        connectivity.end()
        control = .none
        routeSelector?.stopTimer()
        credentialLookup?.withdraw()
        connection?.cancel()
        connection = nil
    }

    package func answerChallenge(_ answer: AuthenticationAnswer) {
        // A proxy asks while a connection is being made, and the server after that.
        if let tunnelAuthentication, tunnelAuthentication.isAnswering { return tunnelAuthentication.take(answer) }
        guard let load, let refusal else { return }
        self.refusal = nil
        load.setIdleTimePaused(false)
        switch answer {
        case .credential(let credential):
            attempt = .given(credential)
            load.loadClient?.load(load, transactionEnded: nil)
            load.log?.record(.fetchStarted(.authentication))
            connect()
        // There is no response that could be the result.
        case .nothing, .defaultHandling, .nextSpace: load.ended(refusal)
        }
    }

    package func restart() {
        connection?.cancel()
        stopped = nil
        connect()
    }

    package func resumePoint(ofFile name: String, delivered: Int64) -> DownloadResumePoint? {
        guard isDownload, !isJustModified, let transfer, let size = transfer.size, let time = transfer.modificationTime,
            delivered <= size - transfer.offset
        else { return nil }
        return DownloadResumePoint(
            originalURL: originalURLText, url: urlText, modificationTime: time,
            bytesReceived: transfer.offset + delivered, total: size, fileName: name)
    }

    // MARK: Connecting

    private func connect() {
        control = .none
        if waitsForConnectivity { connectivity.begin(on: environment.loop) }
        if service.requiresDNSSEC, NameResolver.needsNameServer(url.host) {
            // Checked before a PAC script runs. Not reported before this function returns.
            return environment.loop.runLater { [weak self] in self?.ftpEnded(.cannotFindHost) }
        }
        guard let proxies = environment.proxies else { return connect(by: .direct) }
        search?.cancel()
        let destination = ProxyDestination(url)
        search = proxies.find(destination, asking: ProxyQuery(destination)) { [weak self] in self?.connect(by: $0) }
    }

    private func connect(by routeList: ProxyRouteList) {
        search = nil
        routeSelector?.stopTimer()
        routeSelector = RouteSelector(
            routeList.routes, to: ProxyDestination(url), in: environment.proxies, idleTimeout: load?.idleTimeout ?? 0)
        routeSelector?.owner = self
        guard let route = routeSelector?.current ?? routeList.routes.first else {
            // A proxy is required, and it is not usable. Not reported before this function returns.
            return environment.loop.runLater { [weak self] in self?.ftpEnded(routeList.failure(.tunnel).loadError) }
        }
        connect(through: route)
    }

    private func connect(through route: ProxyRoute) {
        let proxy: ProxyServer? = if case .through(let server) = route { server } else { nil }
        let connection = FTPConnection(
            to: url, request, as: login, service: service, by: environment.pool, through: proxy, observer: self)
        connection.setPaused(isPaused)
        self.connection = connection
        // A proxy that was asked before may have been given up.
        load?.setIdleTimePaused(false)
        connection.start()
        if !isPaused { routeSelector?.startTimer() }
    }

    /// The error of a timeout. A silent proxy has a different error from a silent server (PROXY-10).
    package var timeoutError: LoadError { connection?.timeoutError ?? .timedOut }

    var pendingPhase: PendingPhase? { connection?.pendingPhase }

    func useNextRoute() {
        connection?.cancel()
        load?.noteActivity()
        if let route = routeSelector?.current { connect(through: route) }
    }

    private var login: FTPLogin {
        switch attempt {
        case .anonymous: .anonymous
        case .ofURL(let user, let password): FTPLogin(user: user, password: password)
        case .known(let credential), .given(let credential):
            FTPLogin(user: credential.user, password: credential.password)
        }
    }

    private var request: FTPRequest {
        let form: FTPRequest.Form =
            switch (url.type, url.isDirectory) {
            case (.names, _): .names
            case (_, true): .listing
            case (.ascii, false): .text
            case (.image, false): .file
            }
        var request = FTPRequest(directories: url.directories, name: url.name, form: form)
        request.wantsModificationTime = isDownload
        if let point = stopped?.point, let time = point.modificationTime, let size = point.total {
            request.beginning = FTPRequest.Beginning(
                count: point.bytesReceived, size: size, modificationTime: time)
        }
        return request
    }

    // MARK: From the connection

    package func ftpRecorded(_ event: LoadEvent.Kind) {
        if case .connectionAssigned = event {
            control = .established
            routeSelector?.succeeded()
        }
        load?.log?.record(event)
    }

    package func ftpIsActive() { load?.noteActivity() }

    package var proxyAuthorizer: (any ProxyAuthorizer)? {
        guard let load else { return nil }
        let made = tunnelAuthentication ?? TunnelAuthentication(for: load, in: environment)
        tunnelAuthentication = made
        return made
    }

    package func ftpReceived(challenge question: ConnectionChallenge) -> Bool {
        guard case .tunnel(let challenge) = question.subject, let load,
            tunnelAuthentication?.takes(question, about: challenge) == true
        else { return false }
        load.setIdleTimePaused(true)
        return true
    }

    package func ftpContinues() {
        load?.setIdleTimePaused(false)
        if control == .none, !isPaused { routeSelector?.startTimer() }
    }

    package func ftpFailedToConnect(_ failure: ConnectionFailure) {
        if routeSelector?.failed(failure) == true { return useNextRoute() }
        let meaning = ConnectivityStage.meaning(of: failure)
        guard waitsForConnectivity, connectivity.shouldWait(after: meaning) else { return end(meaning.error) }
        waitForConnectivity()
    }

    private func waitForConnectivity() {
        connection = nil
        routeSelector?.stopTimer()
        guard let load else { return }
        load.setIdleTimePaused(true)
        load.log?.record(.waitingForConnectivity)
        connectivity.waitForRoute(on: environment.loop) { [weak self] in
            guard let self else { return }
            if isPaused { control = .postponed } else { connectAgain() }
        }
        if connectivity.notifiesClient() { load.loadClient?.loadIsWaitingForConnectivity(load) }
    }

    private func connectAgain() {
        control = .none
        guard let load else { return }
        load.setIdleTimePaused(false)
        load.log?.record(.fetchStarted(.retry))
        connect()
    }

    package func ftpRefusedLogin(_ reply: FTPReply) {
        connection = nil
        guard let load else { return }
        switch attempt {
        case .anonymous: break
        // A user without a password does not count as refused.
        case .ofURL(let user, let password):
            refused = password.map { LoadCredential(user: user, password: $0, isKept: true) }
        case .known(let credential):
            environment.authentication.forgetLogin(credential, in: space)
            refused = credential
        case .given(let credential):
            failures += 1
            refused = credential
        }
        // Limits a delegate that never stops answering (AUTH-9).
        guard failures < Self.mostLogins else { return load.ended(.loginRefused(reply)) }
        refusal = .loginRefused(reply)
        load.setIdleTimePaused(true)
        guard let client = load.loadClient else { return }
        let question = AuthenticationQuestion(
            space: space, fromURL: url.credential, refused: refused, failures: failures, isQuiet: false)
        credentialLookup?.withdraw()
        credentialLookup = environment.lookUpCredential(for: question, of: client) { [weak self] question in
            guard let load = self?.load else { return }
            load.loadClient?.load(load, isAsked: question, by: nil)
        }
    }

    package func ftpBegins(_ transfer: FTPTransfer) {
        guard let load else { return }
        self.transfer = transfer
        let second = TimeLimits.seconds(1)
        let now = environment.loop.clock.wallTime
        let modified = transfer.modificationTime.flatMap { FTPTime.seconds($0) }
        // The server's clock may be ahead.
        isJustModified = modified.map { abs(now - $0) < environment.loop.limits.freshFile / second } ?? false
        if case .given(let credential) = attempt {
            if credential.isKept { environment.authentication.remember(login: credential, in: space) }
            if let client = load.loadClient { environment.credentials?.store(credential, for: space, of: client) }
        }
        load.log?.record(.requestStarted)
        load.log?.record(.requestEnded(bytes: 0, content: 0))
        load.log?.record(.responseStarted)
        var response = SourceResponse(
            mimeType: mimeType(start: []), expectedLength: transfer.size.map { $0 - transfer.offset } ?? -1)
        if transfer.offset > 0 { response.resumedOffset = transfer.offset }
        if response.mimeType == nil { heldResponse = response } else { load.received(response) }
    }

    package func ftpReceived(_ data: Data) {
        releaseResponse(start: data)
        load?.received(data)
    }

    package func ftpEnded(_ error: LoadError?) {
        guard let error else { return end(nil) }
        let meaning = ConnectivityStage.meaning(of: ConnectionFailure(error)).error
        // CONN-11: once there was a connection, its loss is one, also if it is that of the second one, for the data.
        let isLoss = control == .established && meaning.code == LoadError.notConnectedToInternet.code
        end(isLoss ? .networkConnectionLost : meaning)
    }

    private func end(_ error: LoadError?) {
        connection = nil
        releaseResponse(start: Data())
        load?.ended(error)
    }

    /// Delivers the response that waited for the first bytes.
    private func releaseResponse(start: Data) {
        guard var response = heldResponse else { return }
        heldResponse = nil
        response.mimeType = mimeType(start: Array(start.prefix(MediaTypeSniffing.length)))
        load?.received(response)
    }

    /// The type from the file name, else from the first bytes, unless these are not the start of the file.
    private func mimeType(start: [UInt8]) -> String? {
        if url.isDirectory { return "text/plain" }
        let name = String(decoding: url.name, as: UTF8.self)
        return MediaTypeSniffing.mediaType(
            contentType: nil, contentTypeOptions: nil, pathExtension: FileExtensions.fileExtension(ofName: name),
            start: transfer?.offset == 0 ? start : [])?.mimeType
    }
}
