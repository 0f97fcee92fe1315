public import Foundation
internal import LoadingSemantics

/// The length of a body nobody announced: −1.
public let NSURLResponseUnknownLength: Int64 = -1

/// What is known of a loaded resource apart from its bytes: address, type, length and encoding.
///
/// Immutable and safe to use from any thread. Responses of `http` and `https` loads are ``HTTPURLResponse``s.
open class URLResponse: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: every stored property, here and in the subclass of this module, is constant or behind a lock.
    private let address: URL?
    private let length: Int64
    private let type: String?
    private let encoding: String?
    /// The file name in the archive that this was read from.
    private let archivedFilename: String?

    /// A response as a custom protocol makes it.
    ///
    /// - Parameters:
    ///   - mimeType: the media type without parameters.
    ///   - length: how many bytes will come, or −1 if unknown.
    ///   - name: the IANA name of the text encoding.
    public init(url: URL, mimeType: String?, expectedContentLength length: Int, textEncodingName name: String?) {
        address = url
        type = mimeType
        self.length = Int64(length)
        encoding = name
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

    /// Those of the toolchain's module, whose archives name the class in the same way.
    private enum ToolchainKey {
        static let url = "NS.url"
        static let mimeType = "NS.mimeType"
        static let length = "NS.expectedContentLength"
        static let encoding = "NS.textEncodingName"
        static let filename = "NS.suggestedFilename"
    }

    /// Reads what `encode(with:)` wrote, here or in the toolchain's module. Nil for any other archive.
    public required init?(coder: NSCoder) {
        guard coder.allowsKeyedCoding else { return nil }
        let isToolchains = !coder.containsValue(forKey: Key.length)
        if isToolchains, !coder.containsValue(forKey: ToolchainKey.length) { return nil }
        address = coder.url(forKey: isToolchains ? ToolchainKey.url : Key.url)
        length = coder.decodeInt64(forKey: isToolchains ? ToolchainKey.length : Key.length)
        type = coder.string(forKey: isToolchains ? ToolchainKey.mimeType : Key.mimeType)
        encoding = coder.string(forKey: isToolchains ? ToolchainKey.encoding : Key.encoding)
        // Whoever wrote the archive, a path is no name.
        archivedFilename = coder.string(forKey: isToolchains ? ToolchainKey.filename : Key.filename).map { name in
            SuggestedFilename.name(
                contentDisposition: nil, lastPathComponent: name.split(separator: "/").last.map(String.init),
                mimeType: nil)
        }
    }

    open class var supportsSecureCoding: Bool { true }

    /// In archives the class has Apple's name.
    open override var classForKeyedArchiver: AnyClass? { archivedClass }

    open func encode(with coder: NSCoder) {
        coder.encode(address.map { $0 as NSURL }, forKey: Key.url)
        coder.encode(length, forKey: Key.length)
        coder.encode(type.map { $0 as NSString }, forKey: Key.mimeType)
        coder.encode(encoding.map { $0 as NSString }, forKey: Key.encoding)
        coder.encode(suggestedFilename.map { $0 as NSString }, forKey: Key.filename)
    }

    /// The same object, since it never changes.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// The address the bytes came from: after redirects, the last one.
    open var url: URL? { address }

    /// The media type, in lower case and without parameters, or nil if nothing tells it.
    open var mimeType: String? { type }

    /// How many bytes will come, or −1 if unknown. A server's promise, not a measure.
    open var expectedContentLength: Int64 { length }

    /// The IANA name of the text encoding, in lower case, or nil if the source does not name one.
    open var textEncodingName: String? { encoding }

    /// A name under which the resource can be stored: what the server asks for, else the last part of the path, else
    /// "Unknown". Never a path; gets the extension of the media type if it has none.
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
