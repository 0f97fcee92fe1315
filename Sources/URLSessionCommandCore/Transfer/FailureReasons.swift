import Foundation

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Describes an error by its failure reasons and its underlying errors.
enum FailureReasons {
    static let proxyDomain = "kCFErrorDomainCFNetwork"

    /// The chain of underlying errors, the outermost first.
    static func chain(under error: any Error) -> [NSError] {
        var chain: [NSError] = []
        var next = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
        // The library's chains are shorter. The limit ends cycles.
        while let current = next, chain.count < 8 {
            chain.append(current)
            next = current.userInfo[NSUnderlyingErrorKey] as? NSError
        }
        return chain
    }

    /// The failure reasons of the error and of its underlying errors, without duplicates.
    static func texts(of error: any Error) -> [String] {
        var texts: [String] = []
        func add(_ text: String?) {
            guard let text, !text.isEmpty, !texts.contains(text) else { return }
            texts.append(text)
        }
        add((error as NSError).userInfo[NSLocalizedFailureReasonErrorKey] as? String)
        for cause in chain(under: error) {
            add(text(of: cause))
            add(cause.userInfo[NSLocalizedFailureReasonErrorKey] as? String)
        }
        return texts.map { TextSanitizer.clean($0) }
    }

    /// The first error of POSIX among the underlying ones.
    static func posixCode(under error: any Error) -> Int32? {
        chain(under: error).first { $0.domain == NSPOSIXErrorDomain }.flatMap { Int32(exactly: $0.code) }
    }

    /// Whether a system library is missing or unusable.
    static func isAboutLibrary(_ error: any Error) -> Bool {
        chain(under: error).contains { $0.domain == "URLLoadingLibraryErrorDomain" }
    }

    /// ` (first: second)`, or an empty string.
    static func parenthesis(_ error: any Error) -> String {
        let texts = texts(of: error)
        return texts.isEmpty ? "" : " (\(texts.joined(separator: ": ")))"
    }

    /// The localized description of the error, followed by its reasons.
    static func described(_ error: any Error) -> String {
        let own = TextSanitizer.clean(error.localizedDescription)
        return ([own] + texts(of: error).filter { $0 != own }).joined(separator: ": ")
    }

    private static func text(of error: NSError) -> String? {
        if error.domain == NSPOSIXErrorDomain, let code = Int32(exactly: error.code) {
            return String(cString: strerror(code)).lowercased()
        }
        if error.domain == proxyDomain { return proxyText(error.code) }
        return error.userInfo[NSLocalizedDescriptionKey] as? String
    }

    /// Proxy errors of Apple's `CFNetworkErrors`.
    private static func proxyText(_ code: Int) -> String? {
        switch code {
        case 100...199: "the SOCKS proxy refused"
        case 306, 310: "no connection to the proxy"
        case 307: "the proxy does not accept the user"
        case 308, 309: "the proxy script cannot be used"
        case 311: "the proxy refused the tunnel"
        default: nil
        }
    }
}
