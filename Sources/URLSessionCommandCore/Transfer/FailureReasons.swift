import Foundation

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// What the errors below an error say about why, in words.
enum FailureReasons {
    static let proxyDomain = "kCFErrorDomainCFNetwork"

    /// Each error that lies under another one, the outermost first.
    static func chain(under error: any Error) -> [NSError] {
        var chain: [NSError] = []
        var next = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
        // No chain of the loader's is longer.
        while let current = next, chain.count < 8 {
            chain.append(current)
            next = current.userInfo[NSUnderlyingErrorKey] as? NSError
        }
        return chain
    }

    /// The reasons of the error itself and of those under it, each once.
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

    /// Whether a library of the system is missing or unusable.
    static func isAboutLibrary(_ error: any Error) -> Bool {
        chain(under: error).contains { $0.domain == "URLLoadingLibraryErrorDomain" }
    }

    /// ` (first: second)`, or nothing.
    static func parenthesis(_ error: any Error) -> String {
        let texts = texts(of: error)
        return texts.isEmpty ? "" : " (\(texts.joined(separator: ": ")))"
    }

    /// What an error says itself, and the reasons under it.
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

    /// Apple's numbers of what goes wrong with proxies (`CFNetworkErrors`).
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
