internal import CLoadingFoundation
internal import Foundation

/// Typed decoding for this module. A missing key is nil, not an error, because archives are untrusted.
extension NSCoder {
    func object<Object: NSObject & NSCoding>(_ type: Object.Type, forKey key: String) -> Object? {
        containsValue(forKey: key) ? decodeObject(of: type, forKey: key) : nil
    }

    func string(forKey key: String) -> String? { object(NSString.self, forKey: key).map { $0 as String } }

    func url(forKey key: String) -> URL? { object(NSURL.self, forKey: key).map { $0 as URL } }

    func data(forKey key: String) -> Data? { object(NSData.self, forKey: key).map { $0 as Data } }

    func strings(forKey key: String) -> [String] { array(of: NSString.self, forKey: key) as? [String] ?? [] }

    /// A dictionary of strings.
    func texts(forKey key: String) -> [String: String]? {
        guard containsValue(forKey: key) else { return nil }
        return decodeObject(of: [NSDictionary.self, NSString.self], forKey: key) as? [String: String]
    }

    func number(forKey key: String) -> NSNumber? { object(NSNumber.self, forKey: key) }

    func response(forKey key: String) -> URLResponse? {
        guard containsValue(forKey: key) else { return nil }
        return decodeObject(of: [URLResponse.self, HTTPURLResponse.self], forKey: key) as? URLResponse
    }

    func array(of type: AnyClass, forKey key: String) -> [Any]? {
        guard containsValue(forKey: key) else { return nil }
        return (decodeObject(of: [NSArray.self, type], forKey: key) as? NSArray).map { Array($0) }
    }
}

extension NSObject {
    /// The class whose name an archive uses for this object, so that archives contain Apple's class name.
    ///
    /// Foundation's `setClassName(_:for:)` does not work here: it stores the name under another key than it looks up.
    /// Subclasses of the program keep their names.
    var archivedClass: AnyClass {
        let own: AnyClass = type(of: self)
        // A class reference is a pointer to its metadata, and so is the result.
        return unsafeBitCast(
            clf_class_for_archives(unsafeBitCast(own, to: UnsafeRawPointer.self)), to: AnyClass.self)
    }
}
