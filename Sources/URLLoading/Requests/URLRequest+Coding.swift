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
        coder.encode(values.uncommonFields.mainDocumentURL.map { $0 as NSURL }, forKey: Key.mainDocumentURL)
        coder.encode(Int64(values.cachePolicy.rawValue), forKey: Key.cachePolicy)
        coder.encode(values.timeoutInterval, forKey: Key.timeoutInterval)
        coder.encode(Int64(values.uncommonFields.networkServiceType.rawValue), forKey: Key.networkServiceType)
        coder.encode(Int64(values.uncommonFields.attribution.rawValue), forKey: Key.attribution)
        coder.encode(values.method as NSString, forKey: Key.method)
        coder.encode(values.fields.map { $0.name as NSString } as NSArray, forKey: Key.fieldNames)
        coder.encode(values.fields.map { $0.value as NSString } as NSArray, forKey: Key.fieldValues)
        switch values.body {
        case .data(let data), .streamOfData(let data): coder.encode(data as NSData, forKey: Key.body)
        case .none, .stream, .streamOfFile: break
        }
        coder.encode(Int64(values.flags.rawValue), forKey: Key.flags)
        coder.encode(
            values.uncommonFields.cookiePartitionIdentifier.map { $0 as NSString }, forKey: Key.cookiePartition)
    }

    /// Keys of the toolchain's FoundationNetworking, whose archives use the same class name.
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

    /// Nil if this is not an archive of a request, of this module or the toolchain's FoundationNetworking.
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
        // The archive does not contain whether a value was set. Default values are left unset, so that the session's
        // apply (C-5, C-7).
        if cachePolicy != self.cachePolicy { self.cachePolicy = cachePolicy }
        if timeoutInterval != self.timeoutInterval { self.timeoutInterval = timeoutInterval }
        networkServiceType = serviceType
        httpMethod = method
        allHTTPHeaderFields = coder.texts(forKey: ToolchainKey.fields)
        // The body is encoded as bytes, not as an object.
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
        values.uncommonFields.mainDocumentURL = coder.url(forKey: Key.mainDocumentURL)
        values.cachePolicy = cachePolicy
        values.timeoutInterval = coder.decodeDouble(forKey: Key.timeoutInterval)
        values.uncommonFields.networkServiceType = serviceType
        values.uncommonFields.attribution = attribution
        values.setMethod(method)
        for (name, value) in zip(coder.strings(forKey: Key.fieldNames), coder.strings(forKey: Key.fieldValues)) {
            values.setField(name, value)
        }
        if let data = coder.data(forKey: Key.body) { values.body = .data(data) }
        values.flags = .init(rawValue: UInt16(truncatingIfNeeded: coder.decodeInt64(forKey: Key.flags)))
        values.uncommonFields.cookiePartitionIdentifier = coder.string(forKey: Key.cookiePartition)
        self.init(storage: values)
    }
}
