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
        let values = storage
        coder.encode(values.url.map { $0 as NSURL }, forKey: Key.url)
        coder.encode(values.rarities.mainDocumentURL.map { $0 as NSURL }, forKey: Key.mainDocumentURL)
        coder.encode(Int64(values.cachePolicy.rawValue), forKey: Key.cachePolicy)
        coder.encode(values.timeoutInterval, forKey: Key.timeoutInterval)
        coder.encode(Int64(values.rarities.networkServiceType.rawValue), forKey: Key.networkServiceType)
        coder.encode(Int64(values.rarities.attribution.rawValue), forKey: Key.attribution)
        coder.encode(values.method as NSString, forKey: Key.method)
        coder.encode(values.fields.map { $0.name as NSString } as NSArray, forKey: Key.fieldNames)
        coder.encode(values.fields.map { $0.value as NSString } as NSArray, forKey: Key.fieldValues)
        switch values.body {
        case .data(let data), .streamOfData(let data): coder.encode(data as NSData, forKey: Key.body)
        case .none, .stream, .streamOfFile: break
        }
        coder.encode(Int64(values.flags.rawValue), forKey: Key.flags)
        coder.encode(values.rarities.cookiePartitionIdentifier.map { $0 as NSString }, forKey: Key.cookiePartition)
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
        let values = RequestStorage(url: coder.url(forKey: Key.url))
        values.rarities.mainDocumentURL = coder.url(forKey: Key.mainDocumentURL)
        values.cachePolicy = cachePolicy
        values.timeoutInterval = coder.decodeDouble(forKey: Key.timeoutInterval)
        values.rarities.networkServiceType = serviceType
        values.rarities.attribution = attribution
        values.method = method
        for (name, value) in zip(coder.strings(forKey: Key.fieldNames), coder.strings(forKey: Key.fieldValues)) {
            values.setField(name, value)
        }
        if let data = coder.data(forKey: Key.body) { values.body = .data(data) }
        values.flags = .init(rawValue: UInt16(truncatingIfNeeded: coder.decodeInt64(forKey: Key.flags)))
        values.rarities.cookiePartitionIdentifier = coder.string(forKey: Key.cookiePartition)
        self.init(storage: values)
    }
}
