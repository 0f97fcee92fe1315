internal import Foundation

/// Everything a request says. One flat value, so that a new request is one allocation and a copy is one more.
struct RequestValues {
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
    }

    var url: URL?
    var mainDocumentURL: URL?
    var timeoutInterval: TimeInterval = 60
    var method = "GET"
    /// In the order and spelling in which they were first set.
    var fields: [(name: String, value: String)] = []
    var body = Body.none
    var cookiePartitionIdentifier: String?
    /// What custom protocols attached, or nil as long as none did.
    var protocolProperties: [String: Any]?
    var cachePolicy = NSURLRequest.CachePolicy.useProtocolCachePolicy
    var networkServiceType = NSURLRequest.NetworkServiceType.default
    var attribution = NSURLRequest.Attribution.developer
    var flags = Flags.standard

    init(url: URL?) { self.url = url }

    /// Methods every server knows are sent in capitals, any other exactly as spelt (MISC-22).
    mutating func setMethod(_ name: String?) {
        guard let name else {
            method = "GET"
            return
        }
        method = Self.knownMethods.first { $0.utf8.count == name.utf8.count && isSameFieldName($0, name) } ?? name
    }

    private static let knownMethods = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT"]

    func index(ofField name: String) -> Int? {
        fields.firstIndex { isSameFieldName($0.name, name) }
    }

    mutating func setField(_ name: String, _ value: String?) {
        let index = index(ofField: name)
        guard let value else {
            if let index { fields.remove(at: index) }
            return
        }
        guard isFieldName(name), isFieldValue(value) else { return }
        if let index { fields[index].value = value } else { fields.append((name, value)) }
    }

    mutating func addField(_ name: String, _ value: String) {
        guard isFieldName(name), isFieldValue(value) else { return }
        if let index = index(ofField: name) {
            fields[index].value += "," + value
        } else {
            fields.append((name, value))
        }
    }

    /// Same fields in any order, same values, names in any case.
    func hasSameFields(as other: RequestValues) -> Bool {
        fields.count == other.fields.count
            && fields.allSatisfy { field in
                other.index(ofField: field.name).map { other.fields[$0].value == field.value } ?? false
            }
    }
}

extension RequestValues: Equatable {
    static func == (left: RequestValues, right: RequestValues) -> Bool {
        left.url == right.url && left.method == right.method && left.cachePolicy == right.cachePolicy
            && left.timeoutInterval == right.timeoutInterval && left.mainDocumentURL == right.mainDocumentURL
            && left.networkServiceType == right.networkServiceType && left.attribution == right.attribution
            && left.cookiePartitionIdentifier == right.cookiePartitionIdentifier
            && left.meaningfulFlags == right.meaningfulFlags
            && left.hasSameFields(as: right) && left.body == right.body
    }

    /// Whether a value was set or left at its default does not make two requests differ.
    private var meaningfulFlags: Flags { flags.subtracting([.setsTimeoutInterval, .setsCachePolicy]) }
}

extension RequestValues.Body: Equatable {
    static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.none, .none): true
        case (.data(let left), .data(let right)): left == right
        case (.stream(let left), .stream(let right)): left === right
        default: false
        }
    }
}
