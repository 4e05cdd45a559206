import evidence


class Settings:
    def __init__(self, **values):
        self.__dict__.update(values)


def schedule(settings):
    evidence.now()
    return [min(1.0, step / settings.warmup_steps) for step in range(settings.steps)]
