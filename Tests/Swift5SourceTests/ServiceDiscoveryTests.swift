import Foundation
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A client as programs for Apple's systems have it.
private class BonjourClient: NSObject, NetServiceBrowserDelegate, NetServiceDelegate {
    let browser = NetServiceBrowser()
    var services = [NetService]()

    func start() {
        browser.delegate = self
        browser.includesPeerToPeer = true
        browser.schedule(in: .main, forMode: .common)
        browser.searchForServices(ofType: "_http._tcp.", inDomain: "local.")
    }

    func netServiceBrowser(_ browser: NetServiceBrowser, didFind service: NetService, moreComing: Bool) {
        services.append(service)
        service.delegate = self
        service.resolve(withTimeout: 5.0)
    }

    func netServiceBrowser(_ browser: NetServiceBrowser, didRemove service: NetService, moreComing: Bool) {
        if let index = services.firstIndex(of: service) { services.remove(at: index) }
    }

    func netServiceDidResolveAddress(_ sender: NetService) {
        guard let addresses = sender.addresses, let host = sender.hostName else { return }
        for data in addresses {
            data.withUnsafeBytes { (pointer: UnsafeRawBufferPointer) in
                _ = pointer.bindMemory(to: sockaddr.self).baseAddress?.pointee.sa_family
            }
        }
        print(host, sender.port, sender.txtRecordData().map { NetService.dictionary(fromTXTRecord: $0) } ?? [:])
    }

    func netService(_ sender: NetService, didNotResolve errorDict: [String: NSNumber]) {
        let code = errorDict[NetService.errorCode].flatMap { NetService.ErrorCode(rawValue: $0.intValue) }
        if code == .timeoutError { sender.stop() }
    }

    func netServiceBrowser(_ browser: NetServiceBrowser, didNotSearch errorDict: [String: NSNumber]) {}
}

/// A server as programs for Apple's systems have it.
private class BonjourServer: NSObject, NetServiceDelegate {
    let service = NetService(domain: "", type: "_http._tcp.", name: "", port: 8080)
    func publish() {
        service.delegate = self
        service.setTXTRecord(NetService.data(fromTXTRecord: ["path": Data("/".utf8)]))
        service.publish(options: [.noAutoRename])
    }
    func netServiceDidPublish(_ sender: NetService) { print(sender.name) }
    func netService(_ sender: NetService, didNotPublish errorDict: [String: NSNumber]) {}
    func netServiceDidStop(_ sender: NetService) {}
}

/// A subclass with an initializer of its own.
private class NamedService: NetService {
    init(name: String) {
        super.init(domain: "local.", type: "_http._tcp.", name: name, port: 80)
    }

    override func stop() {
        super.stop()
    }
}

private class NamedBrowser: NetServiceBrowser {
    override init() {
        super.init()
    }
}

struct ServiceDiscoveryTests {
    // STREAM-10
    @Test("a client and a server of Apple's systems compile") func compiles() {
        let client = BonjourClient()
        let server = BonjourServer()
        #expect(client.services.isEmpty)
        #expect(server.service.port == 8080)
        #expect(NamedService(name: "one").name == "one")
        #expect(NamedBrowser().delegate == nil)
    }
}
