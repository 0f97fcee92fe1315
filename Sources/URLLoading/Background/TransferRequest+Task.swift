internal import BackgroundTransfers
internal import Foundation
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport

extension TransferDescription {
    /// Throws the error with which the task fails. The files of its bodies are set later.
    init(_ task: TaskCore) throws(LoadError) {
        let kind: Kind = if task.isUpload { .upload } else { .download }
        let current = task.currentRequest ?? task.originalRequest
        self.init(
            task: task.number, kind: kind,
            request: try TransferRequest(current, of: task, without: task.fieldsDropped(onTheWayTo: current)),
            original: task.originalRequest.archived)
        let limit = task.core.configuration.totalTimeout
        resourceTimeout = limit.isFinite ? limit : nil
        asksWhenDue = task.wantsDelays
        (expectsToSend, expectsToReceive) = (task.expectsToSend, task.expectsToReceive)
        switch task.kind {
        case .download(let stopped?):
            request.resumption = .download(TransferResumption.Download(stopped.point, path: stopped.path))
        case .upload(_, let stopped?): request.resumption = .upload(TransferResumption.Upload(stopped))
        default: break
        }
        if case .upload(.file(let file), _) = task.kind { uploadPath = file.path }
    }
}

extension TransferRequest {
    /// A request of a task, as the service sends it.
    ///
    /// - Parameter dropped: The fields of the configuration that it does not have.
    init(_ request: URLRequest, of task: TaskCore, without dropped: [String]) throws(LoadError) {
        let (core, configuration) = (task.core, task.core.configuration)
        let body: LoadBody? = task.isUpload ? .file(FileReader(path: "", on: core.loop)) : nil
        let load = try LoadRequest(request, of: core, without: dropped, body: body, priority: task.priority)
        self.init(url: load.urlText, folder: "")
        method = load.method
        fields = [TransferField](load.fields)
        isUpload = task.isUpload
        idleTimeout = load.idleTimeout.isFinite ? load.idleTimeout : 1e9
        totalTimeout = nil
        waitsForConnectivity = true
        allowsCellularAccess = configuration.allowsCellularAccess && request.allowsCellularAccess
        allowsExpensiveAccess = configuration.allowsExpensiveNetworkAccess && request.allowsExpensiveNetworkAccess
        allowsConstrainedAccess =
            configuration.allowsConstrainedNetworkAccess && request.allowsConstrainedNetworkAccess
        trafficClass = load.service.trafficClass
        isMultipath = load.service.isMultipath
        requiresDNSSEC = load.service.requiresDNSSEC
        (assumesHTTP3, allowsEarlyData) = (load.assumesHTTP3, load.allowsEarlyData)
        priority = task.priority
        isDiscretionary = configuration.isDiscretionary
        usesCookies = request.httpShouldHandleCookies
        document = request.mainDocumentURL?.absoluteString
        partition = load.partition
        cachePolicy = load.cachePolicy.rawValue
        taskDescription = task.taskDescription
        earliestBegin = task.earliestBeginDate?.secondsForService
    }
}

extension TransferRequest {
    /// The request with which each attempt begins, as the program sees it. A resumed download begins where redirects
    /// had led, and the delegate may have decided on another request (BG-17).
    func first(after original: URLRequest) -> URLRequest {
        archive.flatMap { URLRequest(archived: $0) } ?? original.at(url)
    }
}

extension Date {
    /// Seconds since 1970 for a message, which has no infinite numbers: nil for a date that has always been reached, or
    /// is none.
    var secondsForService: Double? {
        let seconds = timeIntervalSince1970
        return seconds > 0 ? min(seconds, 1e11) : nil
    }
}

extension URLRequest {
    /// Without a stream, which cannot be archived, and without a long body, which would be too much for a message. The
    /// service has it as a file.
    var archived: Data {
        var copy = self
        if let body = httpBody, body.count > Self.longestArchivedBody { copy.httpBody = nil }
        return (try? NSKeyedArchiver.archivedData(withRootObject: NSURLRequest(copy), requiringSecureCoding: true))
            ?? Data()
    }

    private static let longestArchivedBody = 256 << 10

    /// The request to the URL with that text.
    func at(_ text: String) -> URLRequest {
        guard url?.absoluteString != text, let url = URL(string: text) else { return self }
        var copy = self
        copy.url = url
        return copy
    }

    /// The request after the redirects that have led to the URL with that text.
    func redirected(to text: String, _ changes: RedirectChanges?) -> URLRequest {
        var copy = at(text)
        guard let changes else { return copy }
        if changes.method != method { copy.httpMethod = changes.method }
        if !changes.hasBody { copy.httpBody = nil }
        for name in changes.droppedFields { copy.setValue(nil, forHTTPHeaderField: name) }
        return copy
    }

    init?(archived data: Data) {
        guard let known = try? NSKeyedUnarchiver.unarchivedObject(ofClass: NSURLRequest.self, from: data) else {
            return nil
        }
        self = known.request
    }
}
