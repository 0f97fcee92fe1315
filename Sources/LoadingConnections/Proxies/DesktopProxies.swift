internal import CLoadingProxies
internal import Glibc
internal import LoadingSemantics

/// The settings of the desktop, as libproxy knows them. It may take any time, and is asked by one thread at a time.
enum DesktopProxies {
    static func route(for inquiry: ProxyQuery) -> ProxyResolution {
        guard let text = clx_ask_desktop(inquiry.url) else { return .nothing }
        defer { free(text) }
        return .route(ProxyRouteList(desktop: String(cString: text)))
    }
}
