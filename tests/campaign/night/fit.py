import settings

print("schedule of", len(settings.schedule(settings.Settings(steps=100, warmup=10))), "steps")
