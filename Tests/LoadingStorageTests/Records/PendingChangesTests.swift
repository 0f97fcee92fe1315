import LoadingSemantics
import LoadingStorage
import Testing

/// What waits to be written.
@Suite struct WaitingChangesTests {
    private func text(_ changes: PendingChanges<Cookie>) -> String {
        changes.list.map { change in
            switch change {
            case .stored(let cookie): "+\(cookie.name)=\(cookie.value)"
            case .removed(let identity): "-\(identity.name)"
            case .everythingRemoved: "*"
            }
        }.joined(separator: " ")
    }

    @Test("of each record the last change waits, what is stored in the order of storing") func lastOfEach() {
        var changes = PendingChanges<Cookie>()
        #expect(changes.isEmpty)
        changes.add([
            .stored(.persistent("a", "1")), .stored(.persistent("b", "1")), .removed(Cookie.persistent("c").identity),
        ])
        #expect(text(changes) == "-c +a=1 +b=1")
        changes.add([
            .stored(.persistent("a", "2")), .stored(.persistent("c", "1")), .removed(Cookie.persistent("b").identity),
        ])
        #expect(text(changes) == "-b +a=2 +c=1")
    }

    @Test("what was there before all was removed is no more than that") func everythingRemoved() {
        var changes = PendingChanges<Cookie>()
        changes.add([.stored(.persistent("a")), .everythingRemoved])
        #expect(!changes.isEmpty)
        changes.add([
            .stored(.persistent("b", "1")), .stored(.persistent("c")), .removed(Cookie.persistent("c").identity),
        ])
        changes.add(.removed(Cookie.persistent("d").identity))
        #expect(text(changes) == "* +b=1")
    }

    // COOK-17: servers may have as many come and go as they like
    @Test("however many come and go, no more than so many removals wait") func comingAndGoing() {
        var changes = PendingChanges<Cookie>()
        for number in 0..<50_000 {
            let cookie = Cookie.persistent("\(number)")
            changes.add([.stored(cookie), .removed(cookie.identity)])
        }
        changes.add(.stored(.persistent("last")))
        #expect(changes.count == 20_001)
        // Who is stored anew is not one of them.
        for number in 0..<10 { changes.add(.stored(.persistent("\(number)"))) }
        for number in 40_000..<40_020 { changes.add(.removed(Cookie.persistent("\(number)").identity)) }
        #expect(changes.count == 20_011)
    }

    // COOK-17: nor are their names without a bound
    @Test("removals of long names wait up to so many bytes") func longNames() {
        var changes = PendingChanges<Cookie>()
        let name = String(repeating: "n", count: 4000)
        for number in 0..<10_000 { changes.add(.removed(Cookie.persistent("\(number)" + name).identity)) }
        #expect((4_900...5_000).contains(changes.count))
        // Who is stored anew makes room.
        let count = changes.count
        changes.add(.stored(.persistent("0" + name)))
        changes.add(.removed(Cookie.persistent("9999" + name).identity))
        #expect(changes.count == count + 1)
    }

    // COOK-17: the file grows if a removal is lost
    @Test("of what is there no removal is lost, of what others may have stored so many wait") func known() {
        var changes = PendingChanges<Cookie>()
        changes.known = Set((0..<30_000).map { Cookie.persistent("\($0)").identity })
        for number in (0..<60_000).reversed() {
            let cookie = Cookie.persistent("\(number)")
            changes.add([.stored(cookie), .removed(cookie.identity)])
        }
        #expect(changes.count == 50_000)
        // Who writes them does not know better.
        #expect(Set(changes.list.prefix(30_000).compactMap(\.removedNumber)) == Set(0..<30_000))
        #expect(changes.take().count == 50_000)
        #expect(changes.isEmpty)
        changes.add([
            .stored(.persistent("a")), .removed(Cookie.persistent("b").identity),
            .removed(Cookie.persistent("b").identity),
        ])
        #expect(text(changes) == "-b +a=v")
        changes.dropRemovals()
        #expect(text(changes) == "+a=v")
        changes.add([.everythingRemoved, .stored(.persistent("c")), .removed(Cookie.persistent("d").identity)])
        #expect(text(changes) == "* +c=v")
    }
}

extension RecordChange<Cookie> {
    fileprivate var removedNumber: Int? { if case .removed(let identity) = self { Int(identity.name) } else { nil } }
}
