import Foundation
import TestSupport
import URLLoading

/// Records the callbacks of services and browsers.
final class NetServiceRecorder: NSObject, NetServiceDelegate, NetServiceBrowserDelegate {
    enum Event: Equatable, Sendable {
        case willPublish, didPublish(String), didNotPublish(Int), willResolve, didResolve([String], Int), didNotResolve(
            Int)
        case didStop, text([String: String])
        case willSearch, didStopSearch, didNotSearch(Int), found(String), removed(String), domain(String)
        case removedDomain(String)
    }

    let events = EventRecorder<Event>()
    /// What announced that another result follows.
    let moreComing = EventRecorder<Bool>()
    let services = Watched<[NetService]>([])
    /// Called with each event, on the thread of the callback.
    private let observer: @Sendable (Event) -> Void

    init(_ observer: @escaping @Sendable (Event) -> Void = { _ in }) { self.observer = observer }

    private func record(_ event: Event) {
        observer(event)
        events.record(event)
    }

    private static func code(_ dictionary: [String: NSNumber]) -> Int {
        dictionary[NetService.errorDomain] == 10 ? dictionary[NetService.errorCode]?.intValue ?? 0 : 0
    }

    func netServiceWillPublish(_ sender: NetService) { record(.willPublish) }
    func netServiceDidPublish(_ sender: NetService) { record(.didPublish(sender.name)) }
    func netService(_ sender: NetService, didNotPublish errorDict: [String: NSNumber]) {
        record(.didNotPublish(Self.code(errorDict)))
    }
    func netServiceWillResolve(_ sender: NetService) { record(.willResolve) }
    func netServiceDidResolveAddress(_ sender: NetService) {
        let addresses = (sender.addresses ?? []).map { data in
            data.withUnsafeBytes { bytes in
                var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
                guard let start = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                    getnameinfo(start, socklen_t(bytes.count), &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
                        == 0
                else { return "" }
                return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            }
        }
        record(.didResolve(addresses, sender.port))
    }
    func netService(_ sender: NetService, didNotResolve errorDict: [String: NSNumber]) {
        record(.didNotResolve(Self.code(errorDict)))
    }
    func netServiceDidStop(_ sender: NetService) { record(.didStop) }
    func netService(_ sender: NetService, didUpdateTXTRecord data: Data) {
        record(.text(NetService.dictionary(fromTXTRecord: data).mapValues { String(decoding: $0, as: UTF8.self) }))
    }

    func netServiceBrowserWillSearch(_ browser: NetServiceBrowser) { record(.willSearch) }
    func netServiceBrowserDidStopSearch(_ browser: NetServiceBrowser) { record(.didStopSearch) }
    func netServiceBrowser(_ browser: NetServiceBrowser, didNotSearch errorDict: [String: NSNumber]) {
        record(.didNotSearch(Self.code(errorDict)))
    }
    func netServiceBrowser(_ browser: NetServiceBrowser, didFindDomain domainString: String, moreComing: Bool) {
        record(.domain(domainString))
    }
    func netServiceBrowser(_ browser: NetServiceBrowser, didRemoveDomain domainString: String, moreComing: Bool) {
        record(.removedDomain(domainString))
    }
    func netServiceBrowser(_ browser: NetServiceBrowser, didFind service: NetService, moreComing: Bool) {
        services.withValue { $0.append(service) }
        self.moreComing.record(moreComing)
        record(.found("\(service)"))
    }
    func netServiceBrowser(_ browser: NetServiceBrowser, didRemove service: NetService, moreComing: Bool) {
        let isKnown = services.current.contains { $0 === service }
        record(.removed(isKnown ? "\(service)" : "another object"))
    }
}
