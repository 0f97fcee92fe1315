public import Foundation
internal import LoadingEvents
package import LoadingSemantics

/// The response of an HTTP load: adds a status code and header fields.
///
/// The fields are kept as received; the dictionary is built on first access. Thread-safe.
open class HTTPURLResponse: URLResponse, @unchecked Sendable {
    // Sendable as its superclass: constants, and `dictionary` behind the lock.
    private let status: Int
    private let version: String
    private let fields: HTTPFields
    private let startOfBody: [UInt8]
    private let lock = Lock()
    /// Guarded by `lock`.
    private var dictionary: [AnyHashable: Any]?
    /// Guarded by `lock`. The values by name in lower case, once many of many fields were asked for; and how many.
    private var values: [String: String]?
    private var reads = 0

    /// Creates a response, for custom protocols and tests.
    ///
    /// - Parameters:
    ///   - url: The URL of the response.
    ///   - statusCode: The status. Not validated.
    ///   - HTTPVersion: The version, such as "HTTP/1.1"; nil for that one. Not validated.
    ///   - headerFields: The header fields.
    public init?(url: URL, statusCode: Int, httpVersion HTTPVersion: String?, headerFields: [String: String]?) {
        status = statusCode
        version = HTTPVersion ?? "HTTP/1.1"
        fields = HTTPFields(Self.sorted(headerFields ?? [:]))
        startOfBody = []
        super.init(url: url, expectedContentLength: Self.contentLength(in: fields))
    }

    /// A response without a URL and without fields, with the status 200, for tests.
    public override init() {
        status = 200
        version = "HTTP/1.1"
        fields = HTTPFields()
        startOfBody = []
        super.init()
    }

    /// Creates a response without fields, with the status 200, for tests.
    ///
    /// - Parameters:
    ///   - url: The URL of the response.
    ///   - mimeType: The media type without parameters.
    ///   - length: The length of the body in bytes, or −1 if unknown.
    ///   - name: The IANA name of the text encoding.
    public override init(
        url: URL, mimeType: String?, expectedContentLength length: Int, textEncodingName name: String?
    ) {
        status = 200
        version = "HTTP/1.1"
        fields = HTTPFields()
        startOfBody = []
        super.init(url: url, mimeType: mimeType, expectedContentLength: length, textEncodingName: name)
    }

    /// A response as the loader creates it from parsed fields, without decoding them.
    ///
    /// - Parameters:
    ///   - version: Such as "HTTP/1.1" or "HTTP/2".
    ///   - expectedContentLength: The length of the decoded body in bytes, or −1 if unknown, as with a content coding.
    ///   - startOfBody: The first bytes of the body, if the media type must be sniffed.
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

    /// Decodes an archive of this module or of the toolchain's FoundationNetworking. Nil for any other archive.
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

    /// All header fields, with canonical names ("Content-Type") as keys. Fields with the same name are joined by ", ".
    ///
    /// Names that begin with "x-" keep the server's spelling. Keys are case-sensitive; ``value(forHTTPHeaderField:)``
    /// is not.
    open var allHeaderFields: [AnyHashable: Any] {
        lock.withLock {
            if let dictionary { return dictionary }
            let built = Self.dictionary(of: fields)
            dictionary = built
            return built
        }
    }

    /// The value of a header field; the name is case-insensitive. Fields with the same name are joined by ", ".
    open func value(forHTTPHeaderField field: String) -> String? {
        guard fields.count > Self.fewFields, let name = lowercaseFieldName(field) else {
            return fields.combinedValue(field)
        }
        lock.lock()
        defer { lock.unlock() }
        if let values { return values[name] }
        reads += 1
        // The table is made only when many fields are read.
        if reads > Self.fewReads {
            values = Dictionary(
                (0..<fields.count).lazy.compactMap { [fields] index in
                    lowercaseFieldName(fields.name(at: index)).map { ($0, fields.value(at: index)) }
                }, uniquingKeysWith: { $0 + ", " + $1 })
        }
        return fields.combinedValue(field)
    }

    private static let fewFields = 16
    private static let fewReads = 8

    /// The media type of `Content-Type`, otherwise the one that it was created with, otherwise determined from the
    /// URL's path extension or the first bytes of the body.
    open override var mimeType: String? {
        let contentType = fields.firstValue("Content-Type")
        if let contentType { return MediaType(contentType: contentType)?.mimeType }
        return super.mimeType ?? sniffedMediaType?.mimeType
    }

    open override var textEncodingName: String? {
        let contentType = fields.firstValue("Content-Type")
        if let contentType { return MediaType(contentType: contentType)?.charset }
        return super.textEncodingName ?? sniffedMediaType?.charset
    }

    private var sniffedMediaType: MediaType? {
        MediaTypeSniffing.mediaType(
            contentType: nil, contentTypeOptions: fields.combinedValue("X-Content-Type-Options"),
            pathExtension: url?.pathExtension, start: startOfBody)
    }

    open override var suggestedFilename: String? {
        filename(contentDisposition: fields.firstValue("Content-Disposition"))
    }

    /// The class, the URL without its password, the status and the header fields. Secret fields are shown without their
    /// values.
    open override var description: String {
        let lines = shownFields.map { "    \($0)\n" }.joined()
        return super.description + " { Status Code: \(status), Headers {\n\(lines)} }"
    }

    /// The header fields as descriptions show them.
    var shownFields: [String] {
        (0..<fields.count).map { index in
            let name = fields.name(at: index)
            return "\(name): \(SecretFields.shown(fields.value(at: index), of: name))"
        }
    }

    /// A description of a status code in English, such as "not found" for 404.
    open class func localizedString(forStatusCode statusCode: Int) -> String {
        StatusText.text(forStatusCode: statusCode)
    }

    /// The header fields as received.
    package final var headerFields: HTTPFields { fields }

    /// The HTTP version of the response, such as "HTTP/1.1".
    package final var httpVersion: String { version }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? HTTPURLResponse, super.isEqual(other) else { return false }
        return other === self || other.status == status && other.fields == fields
    }

    /// Dictionaries are unordered. Sorting makes equal arguments produce equal responses.
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
        // Double capacity, because comparing keys after hash collisions would dominate the cost.
        values.reserveCapacity(2 * fields.count)
        // The first spelling of each "x-" name by its lower-case form, so that fields are joined case-insensitively.
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
