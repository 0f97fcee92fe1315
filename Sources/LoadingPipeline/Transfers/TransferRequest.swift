package import FoundationEssentials
package import LoadingSemantics

/// A request for a transfer between a file and a server, as one process sends it to another (BG-5).
package struct TransferRequest: Codable, Equatable, Sendable {
    /// The number of the task in its session.
    package var identifier = 0
    package var taskDescription: String?
    package var method = "GET"
    package var url: String
    package var fields: [TransferField] = []
    /// The path of the file that is uploaded; nil for a request without a body (BG-2).
    package var bodyFile: String?
    /// Whether the upload may resume (RES-18).
    package var isUpload = true
    /// The folder for the file with the body of the response.
    package var folder: String
    /// The point at which an earlier transfer stopped.
    package var resumption: TransferResumption?

    /// Seconds without activity before the transfer fails (C-6).
    package var idleTimeout: Double = TimeLimits.standard.requestTimeout
    /// Seconds from start to end (BG-10); nil for no limit.
    package var totalTimeout: Double? = TimeLimits.standard.resourceTimeout
    package var waitsForConnectivity = true
    package var allowsCellularAccess = true
    package var allowsExpensiveAccess = true
    package var allowsConstrainedAccess = true
    /// The DSCP of its packets (C-9).
    package var trafficClass: UInt8 = 0
    package var isMultipath = false
    package var requiresDNSSEC = false
    /// Whether HTTP/3 is tried although the server has not announced it (CONN-7), and whether the request may be sent
    /// as early data (C-32). Nil in requests of earlier versions.
    package var assumesHTTP3: Bool?
    package var allowsEarlyData: Bool?
    /// 0 to 1.
    package var priority: Float = 0.5
    /// Whether the system may choose the time (BG-16).
    package var isDiscretionary = false
    /// Seconds since 1970 (BG-17).
    package var earliestBegin: Double?
    package var usesCookies = true
    /// The URL of the main document, which determines what is a third party's cookie (COOK-14).
    package var document: String?
    /// The request's own cookie partition (COOK-24).
    package var partition: String?
    /// A raw value of `CachePolicy`.
    package var cachePolicy = CachePolicy.useProtocolCachePolicy.rawValue
    /// The request as the delegate has decided on it for a delayed task (BG-17): an archive of the library, which is
    /// only kept. Nil for the task's own, and in messages of earlier versions, which have no other body.
    package var archive: Data?
    /// Whether the client decides about server trust. Then each handshake waits for its answer.
    package var asksServerTrust = false
    /// Whether the client is asked for its certificate too. Nil in requests of earlier versions.
    package var asksForIdentity: Bool?

    package init(url: String, folder: String) {
        self.url = url
        self.folder = folder
    }
}

/// A header field.
package struct TransferField: Codable, Equatable, Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

extension [TransferField] {
    package init(_ fields: HTTPFields) {
        self = (0..<fields.count).map { TransferField(fields.name(at: $0), fields.value(at: $0)) }
    }
}

extension HTTPFields {
    package init(_ fields: [TransferField]) { self.init(fields.map { ($0.name, $0.value) }) }
}
