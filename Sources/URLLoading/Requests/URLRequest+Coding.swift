internal import Foundation

extension URLRequest {
    private enum Key {
        static let url = "URL"
        static let mainDocumentURL = "mainDocumentURL"
        static let cachePolicy = "cachePolicy"
        static let timeoutInterval = "timeoutInterval"
        static let networkServiceType = "networkServiceType"
        static let attribution = "attribution"
        static let method = "httpMethod"
        static let fieldNames = "httpFieldNames"
        static let fieldValues = "httpFieldValues"
        static let body = "httpBody"
        static let flags = "flags"
        static let cookiePartition = "cookiePartitionIdentifier"
    }

    func encode(with coder: NSCoder) {
        let values = values
        coder.encode(values.url.map { $0 as NSURL }, forKey: Key.url)
        coder.encode(values.mainDocumentURL.map { $0 as NSURL }, forKey: Key.mainDocumentURL)
        coder.encode(Int64(values.cachePolicy.rawValue), forKey: Key.cachePolicy)
        coder.encode(values.timeoutInterval, forKey: Key.timeoutInterval)
        coder.encode(Int64(values.networkServiceType.rawValue), forKey: Key.networkServiceType)
        coder.encode(Int64(values.attribution.rawValue), forKey: Key.attribution)
        coder.encode(values.method as NSString, forKey: Key.method)
        coder.encode(values.fields.map { $0.name as NSString } as NSArray, forKey: Key.fieldNames)
        coder.encode(values.fields.map { $0.value as NSString } as NSArray, forKey: Key.fieldValues)
        if case .data(let data) = values.body { coder.encode(data as NSData, forKey: Key.body) }
        coder.encode(Int64(values.flags.rawValue), forKey: Key.flags)
        coder.encode(values.cookiePartitionIdentifier.map { $0 as NSString }, forKey: Key.cookiePartition)
    }

    /// Nil when the archive is not one of a request.
    init?(coder: NSCoder) {
        guard coder.allowsKeyedCoding, let method = coder.string(forKey: Key.method),
            let cachePolicy = CachePolicy(
                rawValue: UInt(truncatingIfNeeded: coder.decodeInt64(forKey: Key.cachePolicy))),
            let serviceType = NetworkServiceType(
                rawValue: UInt(truncatingIfNeeded: coder.decodeInt64(forKey: Key.networkServiceType))),
            let attribution = Attribution(
                rawValue: UInt(truncatingIfNeeded: coder.decodeInt64(forKey: Key.attribution)))
        else { return nil }
        var values = RequestValues(url: coder.decodeObject(of: NSURL.self, forKey: Key.url) as URL?)
        values.mainDocumentURL = coder.decodeObject(of: NSURL.self, forKey: Key.mainDocumentURL) as URL?
        values.cachePolicy = cachePolicy
        values.timeoutInterval = coder.decodeDouble(forKey: Key.timeoutInterval)
        values.networkServiceType = serviceType
        values.attribution = attribution
        values.method = method
        for (name, value) in zip(coder.strings(forKey: Key.fieldNames), coder.strings(forKey: Key.fieldValues)) {
            values.setField(name, value)
        }
        if let data = coder.decodeObject(of: NSData.self, forKey: Key.body) { values.body = .data(data as Data) }
        values.flags = .init(rawValue: UInt16(truncatingIfNeeded: coder.decodeInt64(forKey: Key.flags)))
        values.cookiePartitionIdentifier = coder.string(forKey: Key.cookiePartition)
        self.init(values: values)
    }
}

extension NSCoder {
    func string(forKey key: String) -> String? {
        decodeObject(of: NSString.self, forKey: key).map { $0 as String }
    }

    func strings(forKey key: String) -> [String] {
        let array = decodeObject(of: [NSArray.self, NSString.self], forKey: key) as? NSArray
        return array.map { $0.compactMap { $0 as? String } } ?? []
    }
}
