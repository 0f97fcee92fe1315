public import Foundation
internal import LoadingEvents
package import LoadingSemantics

/// The response of an HTTP load: a status and header fields besides what every response tells.
///
/// The fields stay in the bytes they came in; the dictionary is built when first asked for. Safe to use from any
/// thread.
open class HTTPURLResponse: URLResponse, @unchecked Sendable {
    // Sendable as its superclass: constants, and `dictionary` behind the lock.
    private let status: Int
    private let version: String
    private let fields: HTTPFields
    private let startOfBody: [UInt8]
    private let lock = Lock()
    /// Guarded by `lock`.
    private var dictionary: [AnyHashable: Any]?

    /// A response as a custom protocol or a test makes it.
    ///
    /// - Parameter HTTPVersion: such as "HTTP/1.1"; kept, not checked.
    public init?(url: URL, statusCode: Int, httpVersion HTTPVersion: String?, headerFields: [String: String]?) {
        status = statusCode
        version = HTTPVersion ?? "HTTP/1.1"
        fields = HTTPFields(Self.sorted(headerFields ?? [:]))
        startOfBody = []
        super.init(url: url, expectedContentLength: Self.contentLength(in: fields))
    }

    /// A response as the loader makes it, straight from what the parser cut. Decodes nothing.
    ///
    /// - Parameters:
    ///   - version: such as "HTTP/1.1" or "HTTP/2".
    ///   - expectedContentLength: the bytes the user will get, or −1 if unknown, as with a content coding.
    ///   - startOfBody: what is there of the body, if the fields name no type and it has to be guessed.
    package init(
        url: URL, status: Int, version: String, fields: HTTPFields, expectedContentLength: Int64,
        startOfBody: [UInt8] = []
    ) {
        self.status = status
        self.version = version
        self.fields = fields
        self.startOfBody = startOfBody
        super.init(url: url, expectedContentLength: expectedContentLength)
    }

    private enum Key {
        static let status = "statusCode"
        static let version = "httpVersion"
        static let names = "fieldNames"
        static let values = "fieldValues"
        static let startOfBody = "startOfBody"
    }

    private enum ToolchainKey {
        static let status = "NS.statusCode"
        static let fields = "NS.allHeaderFields"
    }

    /// Reads what `encode(with:)` wrote, here or in the toolchain's module. Nil for any other archive.
    public required init?(coder: NSCoder) {
        guard coder.allowsKeyedCoding else { return nil }
        if coder.containsValue(forKey: Key.status) {
            status = Int(truncatingIfNeeded: coder.decodeInt64(forKey: Key.status))
            fields = HTTPFields(Array(zip(coder.strings(forKey: Key.names), coder.strings(forKey: Key.values))))
        } else if coder.containsValue(forKey: ToolchainKey.status) {
            status = Int(truncatingIfNeeded: coder.decodeInt64(forKey: ToolchainKey.status))
            fields = HTTPFields(Self.sorted(coder.texts(forKey: ToolchainKey.fields) ?? [:]))
        } else {
            return nil
        }
        version = coder.string(forKey: Key.version) ?? "HTTP/1.1"
        startOfBody = [UInt8](coder.data(forKey: Key.startOfBody) ?? Data())
        super.init(coder: coder)
    }

    open override func encode(with coder: NSCoder) {
        super.encode(with: coder)
        coder.encode(Int64(status), forKey: Key.status)
        coder.encode(version as NSString, forKey: Key.version)
        coder.encode((0..<fields.count).map { fields.name(at: $0) as NSString } as NSArray, forKey: Key.names)
        coder.encode((0..<fields.count).map { fields.value(at: $0) as NSString } as NSArray, forKey: Key.values)
        coder.encode(Data(startOfBody) as NSData, forKey: Key.startOfBody)
    }

    /// The status code, such as 200.
    open var statusCode: Int { status }

    /// All header fields, with canonical names ("Content-Type") as keys and fields of one name joined by ", ".
    ///
    /// Names that begin with "x-" keep the server's spelling. The keys compare exactly; to look a field up whatever
    /// the spelling, use ``value(forHTTPHeaderField:)``.
    open var allHeaderFields: [AnyHashable: Any] {
        lock.withLock {
            if let dictionary { return dictionary }
            let built = Self.dictionary(of: fields)
            dictionary = built
            return built
        }
    }

    /// The value of that header field, its name in any case; several fields of the name are joined by ", ".
    open func value(forHTTPHeaderField field: String) -> String? { fields.combinedValue(field) }

    /// The media type `Content-Type` names; without one, what the address's extension or the first bytes tell.
    open override var mimeType: String? { mediaType?.mimeType }

    open override var textEncodingName: String? { mediaType?.charset }

    private var mediaType: MediaType? {
        let contentType = fields.firstValue("Content-Type")
        if let contentType { return MediaType(contentType: contentType) }
        return MediaTypeSniffing.mediaType(
            contentType: nil, contentTypeOptions: fields.combinedValue("X-Content-Type-Options"),
            pathExtension: url?.pathExtension, start: startOfBody)
    }

    open override var suggestedFilename: String? {
        filename(contentDisposition: fields.firstValue("Content-Disposition"))
    }

    /// What a status code means, in English: "not found" for 404.
    open class func localizedString(forStatusCode statusCode: Int) -> String {
        StatusText.text(forStatusCode: statusCode)
    }

    /// The header fields as they came.
    package final var headerFields: HTTPFields { fields }

    /// The version of HTTP the response was sent with, such as "HTTP/1.1".
    package final var httpVersion: String { version }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? HTTPURLResponse, super.isEqual(other) else { return false }
        return other === self || other.status == status && other.fields == fields
    }

    /// A dictionary has no order of its own; sorting makes equal arguments give equal responses.
    private static func sorted(_ fields: [String: String]) -> [(String, String)] {
        fields.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private static func contentLength(in fields: HTTPFields) -> Int64 {
        guard let text = fields.firstValue("Content-Length"), text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else {
            return NSURLResponseUnknownLength
        }
        return Int64(text) ?? NSURLResponseUnknownLength
    }

    private static func dictionary(of fields: HTTPFields) -> [AnyHashable: Any] {
        var values: [AnyHashable: Any] = [:]
        // Room to spare, for comparing two keys that met by chance costs more than all else here.
        values.reserveCapacity(2 * fields.count)
        // Names that keep their spelling, by their lower-case form: fields of one name are joined whatever the case.
        var spellings: [String: String] = [:]
        for index in 0..<fields.count {
            var name = FieldNames.canonical(fields.name(at: index))
            if name.utf8.first.map(asciiLowercase) == UInt8(ascii: "x") {
                let key = name.lowercased()
                if let first = spellings[key] { name = first } else { spellings[key] = name }
            }
            let value = fields.value(at: index)
            if let before = values.updateValue(value, forKey: name) as? String {
                values[name] = before + ", " + value
            }
        }
        return values
    }
}
