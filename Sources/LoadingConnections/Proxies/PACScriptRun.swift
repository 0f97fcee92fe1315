internal import CLoadingLinux
internal import CLoadingProxies
internal import Glibc
internal import LoadingSemantics
internal import LoadingTransport

/// One call of a script's `FindProxyForURL`. The script runs in a process that can only compute and request addresses
/// from this one: docs/decisions/0013. The call blocks for up to `TimeLimits.proxyScript`, plus the time of name
/// lookups. That time is not counted against the script, because lookups may be slow for one name and fast for all
/// others.
struct PACScriptRun {
    /// The number of lookups in one call, repeated names included.
    private static let mostNames = 32

    private var run: clx_run
    private var addresses: [String: String] = [:]

    static func answer(of source: String, to query: ProxyQuery) -> ProxyResolution {
        guard ProxyResolver.runsScripts else { return .nothing }
        let deadline = cll_now() + TimeLimits.standard.proxyScript
        while true {
            if var run = PACScriptRun(source, query) {
                defer { clx_end(&run.run) }
                return run.listen()
            }
            // All descriptors are in use, perhaps only for a moment.
            guard cll_now() < deadline else { return .nothing }
            poll(nil, 0, TimeLimits.standard.proxyScriptRetry)
        }
    }

    /// Nil if no process can be started now.
    private init?(_ source: String, _ query: ProxyQuery) {
        var run = clx_run()
        let isRunning = Self.withText(PACScriptFunctions.source) { functions in
            Self.withText(source) { source in
                Self.withText(query.url) { url in
                    Self.withText(query.host) { host in clx_begin(functions, source, url, host, &run) }
                }
            }
        }
        guard isRunning else { return nil }
        self.run = run
    }

    private static func withText<Result>(_ text: String, _ body: (clx_text) -> Result) -> Result {
        var text = text
        return text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { body(clx_text(bytes: $0.baseAddress, count: $0.count)) }
        }
    }

    private mutating func listen() -> ProxyResolution {
        let beginning = cll_now()
        var deadline = beginning + TimeLimits.standard.proxyScript
        var questions = 0
        while true {
            let left = (deadline - cll_now()) / 1_000_000
            guard left > 0 else { return .timedOut }
            let (kind, text) = next(within: Int32(truncatingIfNeeded: left))
            switch kind {
            case CLX_ANSWER: return .route(PACResult(text).route)
            case CLX_RESOLVE, CLX_OWN:
                questions += 1
                guard questions <= Self.mostNames else { return .timedOut }
                let asked = cll_now()
                let address = kind == CLX_OWN ? Self.ownAddress : resolve(text)
                let now = cll_now()
                guard now < beginning + TimeLimits.standard.proxyScriptWithLookups else { return .nothing }
                deadline += now - asked
                Self.withText(address ?? "") { clx_tell(&run, $0) }
            // The script exceeded its time or memory, or made a forbidden system call.
            case CLX_TIMED_OUT: return .timedOut
            default: return .nothing
            }
        }
    }

    private mutating func next(within milliseconds: Int32) -> (clx_kind, String) {
        var kind = CLX_TIMED_OUT
        let bytes = [UInt8](unsafeUninitializedCapacity: PACResult.Limit.length) { buffer, count in
            buffer.withMemoryRebound(to: CChar.self) {
                kind = clx_next(&run, milliseconds, $0.baseAddress, $0.count, &count)
            }
        }
        return (kind, String(decoding: bytes, as: UTF8.self))
    }

    /// The source address of this machine's default route. The destination is an address for documentation, which no
    /// network has (RFC 5737), so the kernel selects the default route.
    private static var ownAddress: String? {
        SocketAddress(literal: "192.0.2.1", port: 53)?.preferredSource?.description
    }

    private mutating func resolve(_ host: String) -> String? {
        if let known = addresses[host] { return known.isEmpty ? nil : known }
        // A name with a NUL byte would be cut off, and so be another name.
        var found = ""
        if !host.isEmpty, !host.utf8.contains(0),
            case .success(let list) = NameResolver.askSystem(AddressQuery(host, .ipv4))
        {
            found = list.first?.description ?? ""
        }
        addresses[host] = found
        return found.isEmpty ? nil : found
    }
}
