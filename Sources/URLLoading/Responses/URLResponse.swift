public import Foundation
internal import LoadingSemantics

/// The value of `expectedContentLength` if the length is unknown: −1.
public let NSURLResponseUnknownLength: Int64 = -1

/// The metadata of a loaded resource: URL, media type, length and text encoding.
///
/// Immutable and thread-safe. Responses of `http` and `https` loads are ``HTTPURLResponse``s.
open class URLResponse: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: every stored property, here and in this module's subclass, is constant or guarded by a lock.
    private let address: URL?
    private let length: Int64
    private let type: String?
    private let encoding: String?
    /// The file name from the archive that this was decoded from.
    private let archivedFilename: String?

    /// Creates a response, for custom protocols.
    ///
    /// - Parameters:
    ///   - url: The URL of the response.
    ///   - mimeType: The media type without parameters.
    ///   - length: The length of the body in bytes, or −1 if unknown.
    ///   - name: The IANA name of the text encoding.
    public init(url: URL, mimeType: String?, expectedContentLength length: Int, textEncodingName name: String?) {
        address = url
        type = mimeType
        self.length = Int64(length)
        encoding = name
        archivedFilename = nil
    }

    /// A response without a URL, of unknown length, for tests.
    public override init() {
        address = nil
        type = nil
        length = NSURLResponseUnknownLength
        encoding = nil
        archivedFilename = nil
    }

    init(url: URL?, expectedContentLength: Int64) {
        address = url
        length = expectedContentLength
        type = nil
        encoding = nil
        archivedFilename = nil
    }

    private enum Key {
        static let url = "URL"
        static let mimeType = "MIMEType"
        static let length = "expectedContentLength"
        static let encoding = "textEncodingName"
        static let filename = "suggestedFilename"
    }

    /// Keys of the toolchain's FoundationNetworking, whose archives use the same class name.
    private enum ToolchainKey {
        static let url = "NS.url"
        static let mimeType = "NS.mimeType"
        static let length = "NS.expectedContentLength"
        static let encoding = "NS.textEncodingName"
        static let filename = "NS.suggestedFilename"
    }

    /// Decodes an archive of this module or of the toolchain's FoundationNetworking. Nil for any other archive.
    public required init?(coder: NSCoder) {
        guard coder.allowsKeyedCoding else { return nil }
        let isToolchains = !coder.containsValue(forKey: Key.length)
        if isToolchains, !coder.containsValue(forKey: ToolchainKey.length) { return nil }
        address = coder.url(forKey: isToolchains ? ToolchainKey.url : Key.url)
        length = coder.decodeInt64(forKey: isToolchains ? ToolchainKey.length : Key.length)
        type = coder.string(forKey: isToolchains ? ToolchainKey.mimeType : Key.mimeType)
        encoding = coder.string(forKey: isToolchains ? ToolchainKey.encoding : Key.encoding)
        // Only the last path component: an untrusted archive must not contain a path.
        archivedFilename = coder.string(forKey: isToolchains ? ToolchainKey.filename : Key.filename).map { name in
            SuggestedFilename.name(
                contentDisposition: nil, lastPathComponent: name.split(separator: "/").last.map(String.init),
                mimeType: nil)
        }
    }

    /// Always true.
    open class var supportsSecureCoding: Bool { true }

    /// Archives use Apple's name of the class.
    open override var classForKeyedArchiver: AnyClass? { archivedClass }

    open func encode(with coder: NSCoder) {
        coder.encode(address.map { $0 as NSURL }, forKey: Key.url)
        coder.encode(length, forKey: Key.length)
        coder.encode(type.map { $0 as NSString }, forKey: Key.mimeType)
        coder.encode(encoding.map { $0 as NSString }, forKey: Key.encoding)
        coder.encode(suggestedFilename.map { $0 as NSString }, forKey: Key.filename)
    }

    /// Returns self, because responses are immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// The class and the URL, without its password.
    open override var description: String { super.description + " { URL: \(shownURL ?? "(null)") }" }

    /// The URL of the resource: after redirects, the last one.
    open var url: URL? { address }

    /// The media type in lower case and without parameters, or nil if unknown.
    open var mimeType: String? { type }

    /// The expected length of the body in bytes, or −1 if unknown. The actual length may differ.
    open var expectedContentLength: Int64 { length }

    /// The IANA name of the text encoding in lower case, or nil if the source does not specify one.
    open var textEncodingName: String? { encoding }

    /// A file name for the resource: the one that the server suggests, otherwise the last path component, otherwise
    /// "Unknown". Never a path. If it has no extension, that of the media type is added.
    open var suggestedFilename: String? { filename(contentDisposition: nil) }

    final func filename(contentDisposition: String?) -> String {
        archivedFilename
            ?? SuggestedFilename.name(
                contentDisposition: contentDisposition, lastPathComponent: url?.lastPathComponent, mimeType: mimeType)
    }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? URLResponse, Swift.type(of: other) == Swift.type(of: self) else { return false }
        return other === self
            || other.address == address && other.length == length && other.type == type && other.encoding == encoding
    }

    open override var hash: Int {
        var hasher = Hasher()
        hasher.combine(address)
        hasher.combine(length)
        hasher.combine(type)
        return hasher.finalize()
    }
}
