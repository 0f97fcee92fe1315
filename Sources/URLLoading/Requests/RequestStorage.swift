internal import Foundation
internal import LoadingSemantics

/// Everything a request says: the storage a `URLRequest` shares with its copies until one of them changes.
///
/// A class with the fields in it, not one around a struct: building the struct and copying it in doubles the cost of
/// a new request.
final class RequestStorage: @unchecked Sendable {
    // Sendable: changed only through a `URLRequest` that is its sole owner, so no two threads ever see one change. The
    // stream in it is the user's, who hands it over with the request.

    /// The yes-or-no properties, and whether two others were ever set.
    struct Flags: OptionSet {
        let rawValue: UInt16

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
        /// The header fields were set once: without any they read as an empty dictionary, and not as nil.
        static let setsFields = Flags(rawValue: 1 << 11)

        static let standard: Flags = [
            .allowsCellularAccess, .allowsExpensiveNetworkAccess, .allowsConstrainedNetworkAccess,
            .shouldHandleCookies,
        ]
    }

    /// A body is bytes or a stream, never both (MISC-20).
    enum Body {
        case none
        case data(Data)
        case stream(InputStream)
        /// Bytes that are shown as a stream, a new one to each reader (T-68).
        case streamOfData(Data)
        /// The same of a file.
        case streamOfFile(URL)
    }

    /// What few requests set. Kept apart, since every field costs each request that does not use it.
    struct Rarities: Equatable {
        var mainDocumentURL: URL?
        var cookiePartitionIdentifier: String?
        var networkServiceType = NSURLRequest.NetworkServiceType.default
        var attribution = NSURLRequest.Attribution.developer
    }

    /// Never changed once it is made.
    private final class RaritiesBox {
        let rarities: Rarities
        /// What custom protocols attached.
        let protocolProperties: [String: Any]

        init(_ rarities: Rarities, _ protocolProperties: [String: Any]) {
            self.rarities = rarities
            self.protocolProperties = protocolProperties
        }
    }

    var url: URL?
    var timeoutInterval: TimeInterval = TimeLimits.standard.requestTimeout
    var method = "GET"
    /// In the order and spelling in which they were first set.
    var fields: [(name: String, value: String)] = []
    var body = Body.none
    private var box: RaritiesBox?
    var cachePolicy = NSURLRequest.CachePolicy.useProtocolCachePolicy
    var flags = Flags.standard

    init(url: URL?) { self.url = url }

    init(copying other: RequestStorage) {
        url = other.url
        timeoutInterval = other.timeoutInterval
        method = other.method
        fields = other.fields
        body = other.body
        box = other.box
        cachePolicy = other.cachePolicy
        flags = other.flags
    }

    var rarities: Rarities {
        get { box?.rarities ?? Rarities() }
        set { box = RaritiesBox(newValue, protocolProperties) }
    }

    var protocolProperties: [String: Any] {
        get { box?.protocolProperties ?? [:] }
        set { box = RaritiesBox(rarities, newValue) }
    }

    /// GET, HEAD, POST, PUT, DELETE and CONNECT are upper-cased; any other method keeps its spelling (MISC-22).
    func setMethod(_ name: String?) {
        method = name.map { RequestMethod.canonical($0) } ?? "GET"
    }

    func index(ofField name: String) -> Int? {
        fields.firstIndex { isSameFieldName($0.name, name) }
    }

    func setField(_ name: String, _ value: String?) {
        let index = index(ofField: name)
        guard let value else {
            guard let index else { return }
            fields.remove(at: index)
            flags.insert(.setsFields)
            return
        }
        guard isFieldName(name), isFieldValue(value) else { return }
        if let index { fields[index].value = value } else { fields.append((name, value)) }
    }

    func addField(_ name: String, _ value: String) {
        guard isFieldName(name), isFieldValue(value) else { return }
        if let index = index(ofField: name) {
            fields[index].value += "," + value
        } else {
            fields.append((name, value))
        }
    }

    /// Same fields in any order, same values, names in any case.
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
            && left.timeoutInterval == right.timeoutInterval && left.rarities == right.rarities
            && left.meaningfulFlags == right.meaningfulFlags
            && left.hasSameFields(as: right) && left.body == right.body
    }

    /// Whether a value was set or left at its default does not make two requests differ.
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
