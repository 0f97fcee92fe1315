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

    /// Those of the toolchain's module, whose archives name the class in the same way.
    private enum ToolchainKey {
        static let url = "NS.url"
        static let mainDocumentURL = "NS.mainDocumentURL"
        static let cachePolicy = "NS._cachePolicy"
        static let timeoutInterval = "NS._timeoutInterval"
        static let networkServiceType = "NS._networkServiceType"
        static let method = "NS.httpMethod"
        static let fields = "NS._allHTTPHeaderFields"
        static let body = "NS.httpBody"
        static let allowsCellularAccess = "NS._allowsCellularAccess"
        static let shouldHandleCookies = "NS._httpShouldHandleCookies"
        static let shouldUsePipelining = "NS._httpShouldUsePipelining"
    }

    /// Nil when the archive is not one of a request, here or of the toolchain's module.
    init?(coder: NSCoder) {
        guard coder.allowsKeyedCoding else { return nil }
        if coder.containsValue(forKey: ToolchainKey.method) {
            self.init(toolchainCoder: coder)
        } else {
            self.init(ownCoder: coder)
        }
    }

    private init?(toolchainCoder coder: NSCoder) {
        guard let method = coder.string(forKey: ToolchainKey.method),
            let cachePolicy = coder.number(forKey: ToolchainKey.cachePolicy)
                .flatMap({ CachePolicy(rawValue: $0.uintValue) }),
            let timeoutInterval = coder.number(forKey: ToolchainKey.timeoutInterval)?.doubleValue,
            let serviceType = coder.number(forKey: ToolchainKey.networkServiceType)
                .flatMap({ NetworkServiceType(rawValue: $0.uintValue) })
        else { return nil }
        self.init(storage: RequestStorage(url: coder.url(forKey: ToolchainKey.url)))
        mainDocumentURL = coder.url(forKey: ToolchainKey.mainDocumentURL)
        // These do not say whether a value was ever set; the session's wins over a default (C-5, C-7).
        if cachePolicy != self.cachePolicy { self.cachePolicy = cachePolicy }
        if timeoutInterval != self.timeoutInterval { self.timeoutInterval = timeoutInterval }
        networkServiceType = serviceType
        httpMethod = method
        allHTTPHeaderFields = coder.texts(forKey: ToolchainKey.fields)
        // It is written as plain bytes, and not as an object.
        httpBody = coder.withDecodedUnsafeBufferPointer(forKey: ToolchainKey.body) { $0.map { Data($0) } }
        allowsCellularAccess = coder.number(forKey: ToolchainKey.allowsCellularAccess)?.boolValue ?? true
        httpShouldHandleCookies = coder.number(forKey: ToolchainKey.shouldHandleCookies)?.boolValue ?? true
        httpShouldUsePipelining = coder.number(forKey: ToolchainKey.shouldUsePipelining)?.boolValue ?? false
    }

    private init?(ownCoder coder: NSCoder) {
        guard let method = coder.string(forKey: Key.method),
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
