internal import Foundation
internal import LoadingSemantics

/// The values of a request: copy-on-write storage of `URLRequest`.
///
/// The class contains the values directly. A struct inside it would double the cost of creating a request.
final class RequestStorage: @unchecked Sendable {
    // Sendable: changed only through a `URLRequest` that is its only owner. The body stream is handed over with the
    // request.

    /// The Boolean properties, and whether two others were ever set.
    struct Flags: OptionSet {
        let rawValue: UInt16

        /// Not the one of `SetAlgebra`, which in a debug build goes through four others.
        func contains(_ member: Self) -> Bool { rawValue & member.rawValue == member.rawValue }

        static let setsTimeoutInterval = Flags(rawValue: 1 << 0)
        static let setsCachePolicy = Flags(rawValue: 1 << 1)
        static let allowsCellularAccess = Flags(rawValue: 1 << 2)
        static let allowsExpensiveNetworkAccess = Flags(rawValue: 1 << 3)
        static let allowsConstrainedNetworkAccess = Flags(rawValue: 1 << 4)
        static let allowsUltraConstrainedNetworkAccess = Flags(rawValue: 1 << 5)
        static let assumesHTTP3Capable = Flags(rawValue: 1 << 6)
        static let requiresDNSSECValidation = Flags(rawValue: 1 << 7)
        static let allowsPersistentDNS = Flags(rawValue: 1 << 8)
        static let shouldHandleCookies = Flags(rawValue: 1 << 9)
        static let shouldUsePipelining = Flags(rawValue: 1 << 10)
        /// Whether header fields, a method or a body were ever set. If not, `allHTTPHeaderFields` is nil instead of
        /// empty.
        static let setsFields = Flags(rawValue: 1 << 11)

        static let standard: Flags = [
            .allowsCellularAccess, .allowsExpensiveNetworkAccess, .allowsConstrainedNetworkAccess,
            .shouldHandleCookies,
        ]
    }

    /// The body is data or a stream, never both (MISC-20).
    enum Body {
        case none
        case data(Data)
        case stream(InputStream)
        /// Data that reads as a stream, a new one for each access (T-68).
        case streamOfData(Data)
        /// A file that reads as a stream, a new one for each access.
        case streamOfFile(URL)
    }

    /// Rarely used values. Stored separately, so that other requests do not pay for them.
    struct UncommonFields: Equatable {
        var mainDocumentURL: URL?
        var cookiePartitionIdentifier: String?
        var networkServiceType = NSURLRequest.NetworkServiceType.default
        var attribution = NSURLRequest.Attribution.developer
    }

    /// Immutable.
    private final class UncommonFieldsBox {
        let uncommonFields: UncommonFields
        /// Values attached with `URLProtocol.setProperty`.
        let protocolProperties: [String: Any]

        init(_ uncommonFields: UncommonFields, _ protocolProperties: [String: Any]) {
            self.uncommonFields = uncommonFields
            self.protocolProperties = protocolProperties
        }
    }

    var url: URL?
    var timeoutInterval: TimeInterval = TimeLimits.standard.requestTimeout
    var method = "GET"
    /// In the order and spelling of their first assignment.
    private(set) var fields: [(name: String, value: String)] = []
    /// The indices of many fields, by name in lower case. Made and kept by changes, because reads may be concurrent.
    private var indices: [String: Int] = [:]
    var body = Body.none
    private var box: UncommonFieldsBox?
    var cachePolicy = NSURLRequest.CachePolicy.useProtocolCachePolicy
    var flags = Flags.standard

    init(url: URL?) { self.url = url }

    init(copying other: RequestStorage) {
        url = other.url
        timeoutInterval = other.timeoutInterval
        method = other.method
        fields = other.fields
        indices = other.indices
        body = other.body
        box = other.box
        cachePolicy = other.cachePolicy
        flags = other.flags
    }

    var uncommonFields: UncommonFields {
        get { box?.uncommonFields ?? UncommonFields() }
        set { box = UncommonFieldsBox(newValue, protocolProperties) }
    }

    var protocolProperties: [String: Any] {
        get { box?.protocolProperties ?? [:] }
        set { box = UncommonFieldsBox(uncommonFields, newValue) }
    }

    /// GET, HEAD, POST, PUT, DELETE and CONNECT are upper-cased; any other method keeps its spelling (MISC-22).
    func setMethod(_ name: String?) {
        method = name.map { RequestMethod.canonical($0) } ?? "GET"
    }

    func index(ofField name: String) -> Int? {
        if !indices.isEmpty { return lowercaseFieldName(name).flatMap { indices[$0] } }
        return fields.firstIndex { isSameFieldName($0.name, name) }
    }

    private func appendField(_ name: String, _ value: String) {
        fields.append((name, value))
        if fields.count == Self.manyFields {
            listFields()
        } else if fields.count > Self.manyFields, let key = lowercaseFieldName(name) {
            indices[key] = fields.count - 1
        }
    }

    private static let manyFields = 17

    private func listFields() {
        indices = [:]
        for (index, field) in fields.enumerated() {
            // Each name is a token, and there once.
            if let key = lowercaseFieldName(field.name) { indices[key] = index }
        }
    }

    func removeAllFields() {
        fields = []
        indices = [:]
    }

    func setField(_ name: String, _ value: String?) {
        let index = index(ofField: name)
        guard let value else {
            guard let index else { return }
            fields.remove(at: index)
            if fields.count < Self.manyFields { indices = [:] } else { listFields() }
            flags.insert(.setsFields)
            return
        }
        guard isFieldName(name), isFieldValue(value) else { return }
        if let index { fields[index].value = value } else { appendField(name, value) }
    }

    func addField(_ name: String, _ value: String) {
        guard isFieldName(name), isFieldValue(value) else { return }
        if let index = index(ofField: name) {
            fields[index].value += "," + value
        } else {
            appendField(name, value)
        }
    }

    /// Whether the fields are equal, ignoring their order and the case of names.
    func hasSameFields(as other: RequestStorage) -> Bool {
        fields.count == other.fields.count
            && fields.allSatisfy { field in
                other.index(ofField: field.name).map { other.fields[$0].value == field.value } ?? false
            }
    }
}

extension RequestStorage: Equatable {
    static func == (left: RequestStorage, right: RequestStorage) -> Bool {
        left.url == right.url && left.method == right.method && left.cachePolicy == right.cachePolicy
            && left.timeoutInterval == right.timeoutInterval && left.uncommonFields == right.uncommonFields
            && left.meaningfulFlags == right.meaningfulFlags
            && left.hasSameFields(as: right) && left.body == right.body
    }

    /// Requests are equal even if one sets a value explicitly to its default.
    private var meaningfulFlags: Flags { flags.subtracting([.setsTimeoutInterval, .setsCachePolicy, .setsFields]) }
}

extension RequestStorage.Body: Equatable {
    static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.none, .none): true
        case (.data(let left), .data(let right)): left == right
        case (.stream(let left), .stream(let right)): left === right
        case (.streamOfData(let left), .streamOfData(let right)): left == right
        case (.streamOfFile(let left), .streamOfFile(let right)): left == right
        default: false
        }
    }
}
